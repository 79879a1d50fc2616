// A process that loses a rejection, goes on, and then an error: node --require ./scripts/typescript.cjs process-failures-child.ts
import { logLostFailures } from '../../src/cli/process-failures.js';
import { createLogger } from '../../src/logger.js';

const logger = createLogger('info');
logLostFailures(logger);
void Promise.reject(new Error('nobody awaits this'));
process.once('unhandledRejection', () => {
  // The log is written in the background.
  logger.flush(() => {
    setImmediate(() => {
      process.stdout.write('serving on\n');
      throw new Error('nobody catches this');
    });
  });
});
