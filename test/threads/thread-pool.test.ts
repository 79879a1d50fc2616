import { AppError } from '../../src/errors.js';
import { ThreadPool } from '../../src/threads/thread-pool.js';
import { fromThread, ownMemory } from '../../src/threads/thread-values.js';
import { LARGE_KINDS, largeMessage } from '../helpers/large-plists.js';

const MB = 1024 * 1024;

let pool: ThreadPool;

beforeEach(() => {
  pool = new ThreadPool({ size: 2 });
});
afterEach(() => pool.close());

function idle(kind: string, bytes: number): Buffer {
  const markup = LARGE_KINDS[kind]?.(bytes) ?? '';
  return largeMessage({ Status: 'Idle', UDID: 'U-1' }, ['More', markup]);
}

describe('the pool of threads', () => {
  it('reads a message and returns its bytes to the caller', async () => {
    const raw = ownMemory(idle('applications', MB));
    const before = Buffer.from(raw);
    const { output, ms } = await pool.run('readMessage', raw, { transfer: [raw.buffer] });
    expect(raw).toHaveLength(0);
    const message = fromThread(output);
    expect(message).toMatchObject({ kind: 'report', status: 'Idle', ids: { udid: 'U-1' } });
    expect(message.raw.equals(before)).toBe(true);
    expect(ms).toBeGreaterThan(0);
  });

  it('rejects with the AppError that the thread met', async () => {
    const raw = Buffer.from('<plist><dict>');
    const failure = await pool.run('readMessage', raw).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AppError);
    expect(failure).toMatchObject({ code: 'invalid_plist', status: 400 });
    await expect(pool.run('readStatusReport', Buffer.from('{}'))).resolves.toMatchObject({
      output: { items: [], errors: 0, isFull: false },
    });
  });

  it('replaces a thread that takes too long, and rejects its task with 413', async () => {
    const impatient = new ThreadPool({ size: 1, timeLimitMs: 1 });
    const failure = await impatient.run('readMessage', idle('keys', MB)).catch((error) => error);
    expect(failure).toMatchObject({ code: 'payload_too_large', status: 413 });
    await impatient.close();
  });

  it('runs the task of another owner before one whose owner has a running task', async () => {
    const order: string[] = [];
    const run = async (owner: string, bytes: number) => {
      await pool.run('readMessage', idle('dates', bytes), { owner });
      order.push(owner);
    };
    // Both threads have started then: one may take seconds to load.
    const bytes = idle('dates', 1_000);
    await Promise.all(['a', 'b'].map((owner) => pool.run('readMessage', bytes, { owner })));
    const greedy = Array.from({ length: 4 }, () => run('greedy', MB));
    await Promise.all([...greedy, run('modest', 25_000)]);
    expect(order.indexOf('modest')).toBeLessThan(2);
  });

  it('rejects running tasks when it is closed', async () => {
    const runs = Array.from({ length: 4 }, () => pool.run('readMessage', idle('keys', MB)));
    const ends = Promise.allSettled(runs);
    await pool.close();
    for (const end of await ends) {
      expect(end).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
    }
    await expect(pool.run('readMessage', Buffer.from(''))).rejects.toMatchObject({ status: 503 });
  });
});
