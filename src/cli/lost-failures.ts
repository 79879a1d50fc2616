import type { Logger } from '../logger.js';

/**
 * A rejection that nobody awaits is one request or job that got no answer, by a fault of this program:
 * it is told, and all others are served on. What is thrown where nothing catches it leaves nobody knows
 * what half done: the process ends, as Node has it, and the log says why.
 */
export function logLostFailures(logger: Logger): void {
  process.on('unhandledRejection', (reason) => {
    logger.error({ err: reason }, 'a promise was rejected that nobody awaits: please report it');
  });
  process.on('uncaughtExceptionMonitor', (error) => {
    logger.fatal({ err: error }, 'an error was thrown that nobody catches: the process ends');
  });
}
