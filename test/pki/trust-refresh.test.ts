import { setTimeout as sleep } from 'node:timers/promises';
import { createTrustRefresh } from '../../src/pki/trust-refresh.js';
import { capturingLogger } from '../http/log-lines.js';

describe('the refresh of the trusted CAs', () => {
  it('reads again and again, also after a reading that failed, until it is stopped', async () => {
    const { logger, lines } = capturingLogger();
    let readings = 0;
    const reload = async () => {
      readings += 1;
      await sleep(1);
      if (readings === 2) throw new Error('no database');
    };
    const refresh = createTrustRefresh({ trust: { reload }, logger, intervalMs: 2 });
    await sleep(20);
    expect(readings).toBe(0);
    refresh.start();
    while (readings < 5) await sleep(1);
    await refresh.stop();
    const last = readings;
    await sleep(20);
    expect(readings).toBe(last);
    expect(lines.map(({ msg }) => msg)).toEqual(['the trusted CAs could not be read']);
  });
});
