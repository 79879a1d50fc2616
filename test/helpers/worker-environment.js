// The globals of a worker, for every test file that changes none of them. Jest would make a realm for each
// file: its expect, its helpers and each closure would be compiled and warmed up anew, and all of it
// collected, which took a fifth of the time of all tests. A file that turns the clock or changes its
// environment gets jest's own, and sources of its own (`shared-modules.js`).
const { readFileSync } = require('node:fs');
const { TestEnvironment } = require('jest-environment-node');
const { ModuleMocker } = require('jest-mock');

const CHANGES_GLOBALS = /useFakeTimers|helpers\/clock|spyOn\((?:[A-Z]|global)|process\.env\.\w+ = /;

// Keeps its matchers under a symbol of the globals, which therefore has to be there before any test.
require('@jest/expect');

/** What a test file adds to `target` or replaces in it goes with the file. */
function keeper(target) {
  const before = Object.getOwnPropertyDescriptors(target);
  const keys = new Set(Reflect.ownKeys(before));
  return () => {
    for (const key of Reflect.ownKeys(target)) if (!keys.has(key)) delete target[key];
    for (const key of keys) {
      const now = Object.getOwnPropertyDescriptor(target, key);
      const { value, get } = before[key];
      if (now?.value !== value || now?.get !== get) Object.defineProperty(target, key, before[key]);
    }
  };
}

class WorkerEnvironment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  fakeTimers = null;
  fakeTimersModern = null;
  #restore = [globalThis, process, process.env].map(keeper);

  async setup() {}

  async teardown() {
    for (const restore of this.#restore) restore();
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return this.global;
  }
}

module.exports = class {
  constructor(config, context) {
    const changes = CHANGES_GLOBALS.test(readFileSync(context.testPath, 'utf8'));
    // biome-ignore lint/correctness/noConstructorReturn: jest takes one environment for all files.
    return changes ? new TestEnvironment(config, context) : new WorkerEnvironment();
  }
};

module.exports.WorkerEnvironment = WorkerEnvironment;
