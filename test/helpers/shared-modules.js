// Loads the sources, the packages that they run on and jest's own once in each worker. Jest would load
// them anew for each test file, which took half of the time of all tests. No test replaces a module, and
// no module keeps anything between two servers, so nothing is lost by it.
const { existsSync } = require('node:fs');
const Module = require('node:module');
const { dirname, join, resolve, sep } = require('node:path');
const { compileFunction } = require('node:vm');
const { default: Runtime } = require('jest-runtime');
const { WorkerEnvironment } = require('./worker-environment.js');

const SRC = join(__dirname, '..', '..', 'src') + sep;

/** Packages that test files import, too: with modules of their own they would meet two of each class. */
const SHARED_PACKAGES = new Set([
  ...['express', 'knex', 'pg', 'zod', 'node-forge', 'graphile-worker', 'prom-client'],
  ...['multer', 'helmet', 'compression', 'cors', 'express-rate-limit', 'lru-cache', 'supertest'],
]);

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

/** Helpers of tests and jest's runner keep things for one file: they run anew, compiled once. */
const compiled = new Map();
const transformed = new Map();

/** A test file is of no more use when it is over. */
const isTestFile = (filename) => filename.endsWith('.test.ts');

function compileOnce(parameters) {
  return (source, filename) => {
    if (isTestFile(filename)) return compileFunction(source, parameters, { filename });
    if (!compiled.has(filename))
      compiled.set(filename, compileFunction(source, parameters, { filename }));
    return compiled.get(filename);
  };
}

function transformOnce(cache) {
  const transform = cache.transform.bind(cache);
  return (filename, options) => {
    if (isTestFile(filename)) return transform(filename, options);
    if (!transformed.has(filename)) {
      const code = transform(filename, options);
      transformed.set(filename, { code, map: cache.sourceMaps.get(filename) });
    }
    const { code, map } = transformed.get(filename);
    if (map !== undefined) cache.sourceMaps.set(filename, map);
    return code;
  };
}

module.exports = class SharedModules extends Runtime {
  constructor(config, environment, ...rest) {
    super(config, environment, ...rest);
    newest = this;
    this.isSharing = environment instanceof WorkerEnvironment;
    if (!this.isSharing) return;
    this.executor.compile = compileOnce(this.executor.injectedModuleParameters);
    this.transformCache.transform = transformOnce(this.transformCache);
  }

  requireInternalModule(from, to) {
    if (to === 'node:async_hooks') return { AsyncLocalStorage: CurrentTest };
    if (this.isSharing && to !== undefined && !to.startsWith('.'))
      return Module.createRequire(from)(to);
    return super.requireInternalModule(from, to);
  }

  requireModuleOrMock(from, name) {
    if (!this.isSharing) return super.requireModuleOrMock(from, name);
    const shared = SHARED_PACKAGES.has(name) ? name : sourceOf(from, name);
    return shared === undefined ? super.requireModuleOrMock(from, name) : require(shared);
  }
};
