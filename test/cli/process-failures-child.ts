// A process that loses a rejection, goes on, and then an error: node --require ./scripts/typescript.cjs process-failures-child.ts
import { logLostFailures } from '../../src/cli/process-failures.js';
import { createLogger } from '../../src/logger.js';

// One stream for the log and for what the process prints keeps their order.
logLostFailures(createLogger('info', process.stdout));
void Promise.reject(new Error('nobody awaits this'));
process.once('unhandledRejection', () => {
  setImmediate(() => {
    process.stdout.write('serving on\n');
    throw new Error('nobody catches this');
  });
});
