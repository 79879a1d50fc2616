// A process that loses a rejection, goes on, and then an error: node --import tsx process-failures-child.ts
import { logLostFailures } from '../../src/cli/process-failures.js';
import { createLogger } from '../../src/logger.js';

logLostFailures(createLogger('info'));
void Promise.reject(new Error('nobody awaits this'));
process.once('unhandledRejection', () => {
  setImmediate(() => {
    process.stdout.write('serving on\n');
    throw new Error('nobody catches this');
  });
});
