import { createSnapshot, type SnapshotOptions } from '../../src/metrics/snapshot.js';
import { capturingLogger } from '../http/log-lines.js';

describe('a snapshot', () => {
  const { logger, lines } = capturingLogger();
  let clock = 1_000_000;

  beforeEach(() => {
    lines.length = 0;
  });

  function snapshotOf<T extends object>(
    sources: { [Name in keyof T]: () => Promise<T[Name]> },
    options: Partial<SnapshotOptions> = {},
  ) {
    return createSnapshot<T>(sources, { logger, now: () => clock, ...options });
  }

  it('is read once in ten seconds, however many scrapes ask for it', async () => {
    let reads = 0;
    const snapshot = snapshotOf({ count: async () => ++reads });
    const together = await Promise.all([snapshot.read(), snapshot.read(), snapshot.read()]);
    expect(together).toEqual([{ count: 1 }, { count: 1 }, { count: 1 }]);
    clock += 9_999;
    expect(await snapshot.read()).toEqual({ count: 1 });
    clock += 1;
    expect(await snapshot.read()).toEqual({ count: 2 });
  });

  it('is kept for twenty times as long as reading it took', async () => {
    let reads = 0;
    const slow = async () => {
      clock += 2_000;
      return ++reads;
    };
    const snapshot = snapshotOf({ count: slow });
    await snapshot.read();
    clock += 37_999;
    expect(await snapshot.read()).toEqual({ count: 1 });
    clock += 1;
    expect(await snapshot.read()).toEqual({ count: 2 });
  });

  it('lacks a part that fails, logs that once, and has the part again afterwards', async () => {
    let isBroken = true;
    const snapshot = snapshotOf({
      first: async () => (isBroken ? Promise.reject(new Error('gone')) : 1),
      second: async () => 2,
    });
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(await snapshot.read()).toEqual({ second: 2 });
      clock += 10_000;
    }
    expect(lines).toEqual([
      expect.objectContaining({ figures: 'first', msg: 'metrics lack what cannot be read' }),
    ]);
    isBroken = false;
    expect(await snapshot.read()).toEqual({ first: 1, second: 2 });
    isBroken = true;
    clock += 10_000;
    await snapshot.read();
    expect(lines).toHaveLength(2);
  });

  it('answers in time while a reading hangs, and starts no other', async () => {
    let reads = 0;
    let finish = (_value: number) => {};
    const hanging = () => {
      reads += 1;
      return new Promise<number>((resolve) => {
        finish = resolve;
      });
    };
    const snapshot = snapshotOf({ count: hanging }, { deadlineMs: 5 });
    expect(await snapshot.read()).toEqual({});
    expect(await snapshot.read()).toEqual({});
    expect(reads).toBe(1);
    finish(7);
    expect(await snapshot.read()).toEqual({ count: 7 });

    clock += 10_000;
    expect(await snapshot.read()).toEqual({ count: 7 });
    clock += 20_000;
    expect(await snapshot.read()).toEqual({});
    expect(reads).toBe(2);
  });

  it('gives the first scrape what has been read when the rest takes long', async () => {
    let finish = (_value: number) => {};
    const slow = () =>
      new Promise<number>((resolve) => {
        finish = resolve;
      });
    const sources = { quick: async () => 1, slow };
    const snapshot = snapshotOf(sources, { maxWholeWaitMs: 5, waitMs: 5 });
    snapshot.start();
    expect(await snapshot.read()).toEqual({ quick: 1 });
    expect(await snapshot.read()).toEqual({ quick: 1 });
    finish(2);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await snapshot.read()).toEqual({ quick: 1, slow: 2 });
  });

  it('waits for all of a first reading that has only begun', async () => {
    let finish = (_value: number) => {};
    const slow = () =>
      new Promise<number>((resolve) => {
        finish = resolve;
      });
    const snapshot = snapshotOf({ quick: async () => 1, slow }, { waitMs: 0 });
    const read = snapshot.read();
    await new Promise((resolve) => setTimeout(resolve, 50));
    finish(2);
    expect(await read).toEqual({ quick: 1, slow: 2 });
  });

  it('gives a scrape the former figures when a new reading takes longer than it may wait', async () => {
    let reads = 0;
    let finish = () => {};
    const slow = () =>
      new Promise<number>((resolve) => {
        reads += 1;
        finish = () => resolve(reads);
      });
    const snapshot = snapshotOf({ count: slow }, { waitMs: 5 });
    snapshot.start();
    snapshot.start();
    finish();
    expect(await snapshot.read()).toEqual({ count: 1 });
    clock += 10_000;
    expect(await snapshot.read()).toEqual({ count: 1 });
    finish();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await snapshot.read()).toEqual({ count: 2 });
    expect(reads).toBe(2);
  });
});
