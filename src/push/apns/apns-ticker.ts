import type { ApnsLimits } from './apns-limits.js';

const LONGEST_TICK = 500;
const TICKS_IN_TIME = 10;
const TICKS_OF_A_STALL = 4;

/**
 * Calls often enough to keep the time limits, with the time of performance.now(). Not after a stall
 * of this process: the answers lie unread then, so nothing is late yet. Returns how to stop it.
 */
export function startTicks(limits: ApnsLimits, onTick: (now: number) => void): () => void {
  const { requestTimeout, connectTimeout, pingTimeout } = limits;
  const shortest = Math.min(requestTimeout, connectTimeout, pingTimeout);
  const interval = Math.min(LONGEST_TICK, shortest / TICKS_IN_TIME);
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    const isStalled = now - last > TICKS_OF_A_STALL * interval;
    last = now;
    if (!isStalled) onTick(now);
  }, interval);
  timer.unref();
  return () => clearInterval(timer);
}
