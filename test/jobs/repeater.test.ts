import { Repeater } from '../../src/jobs/repeater.js';
import { capturingLogger } from '../http/log-lines.js';
import { until } from './helpers.js';

const DEBUG = 20;
const INFO = 30;
const WARN = 40;

/** Runs once for each outcome, true for success, and then succeeds. */
async function linesOf(outcomes: boolean[]): Promise<[level: number, msg: string][]> {
  const { logger, lines } = capturingLogger();
  let runs = 0;
  const work = async () => {
    const isFine = outcomes[runs] ?? true;
    runs += 1;
    if (!isFine) throw new Error('no');
  };
  const words = { failureMessage: 'it fails', recoveryMessage: 'it works again' };
  const repeater = new Repeater(work, { logger, intervalMs: 1, ...words });
  await repeater.start();
  await until(() => runs > outcomes.length);
  await repeater.stop();
  return lines.map(({ level, msg }) => [level, msg]);
}

describe('work that is repeated', () => {
  it('is not logged while it succeeds', async () => {
    expect(await linesOf([true, true])).toEqual([]);
  });

  it('logs the first failure, and the recovery', async () => {
    expect(await linesOf([true, false, false, false])).toEqual([
      [WARN, 'it fails'],
      [INFO, 'it works again'],
    ]);
  });

  it('does not log every failure when it fails now and then', async () => {
    expect(await linesOf([false, true, false, true, false])).toEqual([
      [WARN, 'it fails'],
      [INFO, 'it works again'],
      [DEBUG, 'it fails'],
      [DEBUG, 'it fails'],
    ]);
  });
});
