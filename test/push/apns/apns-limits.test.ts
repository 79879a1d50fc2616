import { setTimeout as sleep } from 'node:timers/promises';
import { APNS_LIMITS, startTicks } from '../../../src/push/apns/apns-limits.js';

const limits = { ...APNS_LIMITS, requestTimeout: 200 };

function block(ms: number): number {
  const end = performance.now() + ms;
  while (performance.now() < end);
  return performance.now();
}

describe('startTicks', () => {
  it('ticks ten times within the shortest limit, until it is stopped', async () => {
    let count = 0;
    const third = new Promise<void>((resolve) => {
      const stop = startTicks(limits, () => {
        count += 1;
        if (count < 3) return;
        stop();
        resolve();
      });
    });
    await third;
    await sleep(100);
    expect(count).toBe(3);
  });

  it('skips one tick after a stall, so that pending answers are read first', async () => {
    let blockedUntil: number | undefined;
    const waited = await new Promise<number>((resolve) => {
      const stop = startTicks(limits, (now) => {
        if (blockedUntil !== undefined) {
          stop();
          resolve(now - blockedUntil);
        } else blockedUntil = block(300);
      });
    });
    expect(waited).toBeGreaterThan(15);
  });
});
