// Tests run as CommonJS, the way the product runs; the type check is `npm run typecheck`.
const swc = (syntax) => [
  '@swc/jest',
  {
    jsc: { parser: { syntax }, target: 'es2022' },
    module: { type: 'commonjs' },
    sourceMaps: true,
  },
];

/** Packages without a CommonJS form; Node itself can require them, jest cannot. */
const MODULES_ONLY = ['openid-client', 'oauth4webapi', 'jose'].join('|');

// A young generation of 16 MB is collected all the time while hundreds of modules are loaded for
// each test file. Workers are processes of their own and read this.
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --max-semi-space-size=64`.trim();

// Workers inherit this. More of them than cores leave V8's helper threads nothing to run on: collecting
// in the main thread takes less time in all. And most code runs a few times only: machine code for it
// would cost more than it saves.
process.execArgv.push('--single-threaded-gc', '--interrupt-budget=1000000');

module.exports = {
  testEnvironment: '<rootDir>/test/helpers/worker-environment.js',
  // What takes long, or needs the command openssl, is left to jest.long.config.js.
  testMatch: [
    '<rootDir>/test/**/*.test.ts',
    '!**/test/e2e/**',
    '!**/*.long.test.ts',
    '!**/*.openssl.test.ts',
  ],
  transform: {
    '^.+\\.ts$': swc('typescript'),
    [`/node_modules/(${MODULES_ONLY})/.+\\.js$`]: swc('ecmascript'),
  },
  transformIgnorePatterns: [`/node_modules/(?!(${MODULES_ONLY})/)`],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // zod's words in fifty languages, which nobody here speaks.
    '^\\.\\./locales/index\\.cjs$': '<rootDir>/node_modules/zod/v4/locales/en.cjs',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/data'],
  globalSetup: '<rootDir>/test/helpers/global-setup.ts',
  globalTeardown: '<rootDir>/test/helpers/global-teardown.ts',
  setupFilesAfterEnv: ['<rootDir>/test/helpers/let-go.ts'],
  runtime: '<rootDir>/test/helpers/shared-modules.js',
  testSequencer: '<rootDir>/test/helpers/slow-first.js',
  // Tests wait for other processes and for sockets half of the time: four workers keep two cores busy.
  maxWorkers: 4,
  // A machine can be half as fast as it was an hour before: this ends what hangs, and measures nothing.
  testTimeout: 90_000,
};
