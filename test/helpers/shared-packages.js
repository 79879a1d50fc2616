// Loads the packages that the product runs on once in each worker, instead of once in each test file:
// half of what a test file loads is theirs, and none of them keeps anything between two servers.
// Left to jest: express and pino, whose errors and prototypes meet those of a test file, and
// graphile-worker, whose clock the tests turn.
const { default: Runtime } = require('jest-runtime');

const SHARED = new Set([
  ...['knex', 'pg', 'zod', 'node-forge', 'prom-client', 'multer', 'helmet'],
  ...['compression', 'cors', 'express-rate-limit', 'lru-cache', 'supertest', 'oauth-1.0a'],
]);

module.exports = class SharedPackages extends Runtime {
  constructor(config, environment, ...rest) {
    super(config, environment, ...rest);
    // The times in rows are made by the shared `pg`: the same Date for both.
    environment.global.Date = Date;
  }

  requireModuleOrMock(from, name) {
    return SHARED.has(name) ? require(name) : super.requireModuleOrMock(from, name);
  }
};
