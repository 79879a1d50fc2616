import { setTimeout as sleep } from 'node:timers/promises';
import { APNS_LIMITS } from '../../../src/push/apns/apns-limits.js';
import { startTicks } from '../../../src/push/apns/apns-ticker.js';

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

  it('lets a turn pass after a stall, in which what came meanwhile is read', async () => {
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
