import { Logger as LibraryLogger } from 'graphile-worker';
import { createWarner, type Logger } from '../../logger.js';

/**
 * The queue library's log in ours. Its messages alone: what it hands along holds payloads. How each
 * job ended is told by whoever runs the jobs. While `isQuiet`, what it believes is not so.
 */
export function createJobQueueLogger(logger: Logger, isQuiet = () => false): LibraryLogger {
  // In an outage the library says the same at each of its attempts.
  const warn = createWarner(logger);
  return new LibraryLogger(() => (level, message, meta) => {
    if (meta?.success === true || meta?.failure === true) return;
    // What it calls an error it makes up for by itself.
    const isGrave = level === 'error' || level === 'warning';
    if (isGrave && !isQuiet()) warn({ detail: message }, 'job queue', message);
    else logger.debug({ detail: message }, 'job queue');
  });
}
