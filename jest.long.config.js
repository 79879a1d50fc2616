// `npm run test:long`: whole programs, documentation, kills and races, which take minutes.
module.exports = {
  ...require('./jest.config.js'),
  // Programs that start, and clocks that have to pass: more waiting than in the other tests.
  maxWorkers: 6,
  testMatch: ['<rootDir>/test/e2e/**/*.test.ts', '<rootDir>/test/**/*.long.test.ts'],
};
