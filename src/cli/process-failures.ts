import type { Logger } from '../logger.js';

/**
 * An unhandled rejection is a bug that cost one request or job its answer: log it and continue to
 * serve. An uncaught exception may leave state half changed: log it and let Node end the process.
 */
export function logLostFailures(logger: Logger): void {
  process.on('unhandledRejection', (reason) => {
    logger.error({ err: reason }, 'unhandled rejection of a promise: please report it');
  });
  process.on('uncaughtExceptionMonitor', (error) => {
    logger.fatal({ err: error }, 'uncaught exception: the process ends');
  });
}

/**
 * After the reader of a pipe has gone (`muster … | head`), output is dropped. A command that runs
 * until Ctrl-C is stopped; any other finishes its work. Output that cannot be written for another reason, such
 * as a full disk, ends the process.
 */
export function endWithReader(out: NodeJS.WriteStream): void {
  out.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') {
      process.stderr.write(`muster: the output cannot be written (${error.message})\n`);
      process.exit(1);
    }
    if (process.listenerCount('SIGINT') > 0) process.emit('SIGINT', 'SIGINT');
  });
}
