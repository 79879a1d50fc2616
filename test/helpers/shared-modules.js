// Loads the sources, and the packages that they run on, once in each worker. Jest would load them anew
// for each test file, which took half of the time of all tests. No test replaces a module, and no module
// keeps anything between two servers, so nothing is lost by it.
const { existsSync, readFileSync } = require('node:fs');
const Module = require('node:module');
const { dirname, join, resolve, sep } = require('node:path');
const { default: Runtime } = require('jest-runtime');

const SRC = join(__dirname, '..', '..', 'src') + sep;

/** Packages that test files import, too: with modules of their own they would meet two of each class. */
const SHARED_PACKAGES = new Set([
  ...['express', 'knex', 'pg', 'zod', 'node-forge', 'graphile-worker', 'prom-client'],
  ...['multer', 'helmet', 'compression', 'cors', 'express-rate-limit', 'lru-cache', 'supertest'],
]);

/** What jest gives a test file of its own, and must be the same for it and for the sources. */
const SHARED_GLOBALS = [
  ...['Date', 'Map', 'Set', 'Promise', 'Error', 'AggregateError', 'RangeError', 'SyntaxError'],
  'TypeError',
];

/** A test file that turns the clock, changes its environment or spies on a class loads its own. */
const NEEDS_OWN_SOURCES =
  /useFakeTimers|helpers\/clock|spyOn\((?:[A-Z]|global)|process\.env\.\w+ = /;

/**
 * Where jest keeps which test runs. Its own storage follows each promise, which costs Node 20 a tenth of
 * a worker's time; the tests of a file run one after another (none is concurrent), so one field does.
 */
class CurrentTest {
  #test;

  getStore() {
    return this.#test;
  }

  async run(test, work) {
    const before = this.#test;
    this.#test = test;
    try {
      return await work();
    } finally {
      this.#test = before;
    }
  }
}

let newest;

Module._extensions['.ts'] = (module, filename) => {
  module._compile(newest.transformCache.transform(filename, undefined), filename);
};

const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function (request, parent, ...rest) {
  const source = sourceOf(parent?.filename ?? '', request);
  return source ?? resolveFilename.call(this, request, parent, ...rest);
};

/** The file of src that `./name.js` means, asked for by a TypeScript file. */
function sourceOf(from, request) {
  if (!from.endsWith('.ts') || !request.startsWith('.') || !request.endsWith('.js'))
    return undefined;
  const path = `${resolve(dirname(from), request).slice(0, -3)}.ts`;
  return path.startsWith(SRC) && existsSync(path) ? path : undefined;
}

module.exports = class SharedModules extends Runtime {
  constructor(config, environment, ...rest) {
    super(config, environment, ...rest);
    newest = this;
    this.isSharing = !NEEDS_OWN_SOURCES.test(readFileSync(this._testPath, 'utf8'));
    if (!this.isSharing) return;
    for (const name of SHARED_GLOBALS) environment.global[name] = globalThis[name];
  }

  requireInternalModule(from, to) {
    if (to === 'node:async_hooks') return { AsyncLocalStorage: CurrentTest };
    return super.requireInternalModule(from, to);
  }

  requireModuleOrMock(from, name) {
    if (!this.isSharing) return super.requireModuleOrMock(from, name);
    const shared = SHARED_PACKAGES.has(name) ? name : sourceOf(from, name);
    return shared === undefined ? super.requireModuleOrMock(from, name) : require(shared);
  }
};
