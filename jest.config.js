// Tests run as CommonJS, the way the product runs; the type check is `npm run typecheck`.
const swc = (syntax) => [
  '@swc/jest',
  {
    jsc: { parser: { syntax }, target: 'es2022' },
    module: { type: 'commonjs' },
    sourceMaps: 'inline',
  },
];

/** Packages without a CommonJS form; Node itself can require them, jest cannot. */
const MODULES_ONLY = ['openid-client', 'oauth4webapi', 'jose'].join('|');

module.exports = {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  transform: {
    '^.+\\.ts$': swc('typescript'),
    [`/node_modules/(${MODULES_ONLY})/.+\\.js$`]: swc('ecmascript'),
  },
  transformIgnorePatterns: [`/node_modules/(?!(${MODULES_ONLY})/)`],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/data'],
  globalSetup: '<rootDir>/test/helpers/global-setup.ts',
  globalTeardown: '<rootDir>/test/helpers/global-teardown.ts',
  maxWorkers: 2,
  testTimeout: 30000,
};
