// `npm run test:long`: whole programs, documentation, kills and races, which take minutes, and what is
// compared with the command openssl.
module.exports = {
  ...require('./jest.config.js'),
  testMatch: [
    '<rootDir>/test/e2e/**/*.test.ts',
    '<rootDir>/test/**/*.{long,openssl}.test.ts',
  ],
};
