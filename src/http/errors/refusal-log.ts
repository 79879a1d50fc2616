import type { Logger } from '../../logger.js';

const WINDOW_MS = 10_000;
/** Lines of one surface within the window. */
export const MOST_LINES = 100;

/** Writes a line for a refused request. */
export type RefusalLog = (fields: object) => void;

/** Lines at level info, those beyond the limit at level debug: a flood of requests fills no disk. */
export function createRefusalLog(logger: Logger, most = MOST_LINES): RefusalLog {
  let count = 0;
  let startedAt = Number.NEGATIVE_INFINITY;
  return (fields) => {
    const now = performance.now();
    if (now - startedAt >= WINDOW_MS) [count, startedAt] = [0, now];
    count += 1;
    logger[count <= most ? 'info' : 'debug'](fields, 'device request refused');
    if (count !== most + 1) return;
    const message =
      `more than ${most} device requests were refused within ${WINDOW_MS / 1000} s; the others are ` +
      'logged at level debug. If the address (peer) is not one of your devices, block it at the firewall';
    logger.warn(fields, message);
  };
}
