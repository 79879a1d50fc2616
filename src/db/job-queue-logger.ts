import { Logger as LibraryLogger } from 'graphile-worker';
import type { Logger } from '../logger.js';

/** In an outage the library says the same at each of its attempts. */
const REPEATED_MS = 60_000;

/**
 * The queue library's log in ours. Its messages alone: what it hands along holds payloads. How each
 * job ended is told by whoever runs the jobs.
 */
export function createJobQueueLogger(logger: Logger): LibraryLogger {
  const last = { message: '', at: 0 };
  const isRepeated = (message: string) => {
    if (message === last.message && Date.now() - last.at < REPEATED_MS) return true;
    Object.assign(last, { message, at: Date.now() });
    return false;
  };
  return new LibraryLogger(() => (level, message, meta) => {
    if (meta?.success === true || meta?.failure === true) return;
    // What it calls an error it makes up for by itself.
    const isTold = (level === 'error' || level === 'warning') && !isRepeated(message);
    logger[isTold ? 'warn' : 'debug']({ detail: message }, 'job queue');
  });
}
