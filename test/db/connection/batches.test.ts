import { setImmediate as nextTurn } from 'node:timers/promises';
import { Batches } from '../../../src/db/connection/batches.js';

interface Run {
  items: number[];
  end: (results: string[]) => void;
  fail: (error: Error) => void;
}

/** Runs that end when the test says so. */
function controlled() {
  const runs: Run[] = [];
  const run = (items: number[]) =>
    new Promise<string[]>((end, fail) => {
      runs.push({ items, end, fail });
    });
  return { runs, run, itemsOfRuns: () => runs.map(({ items }) => items) };
}

function named(items: number[] = []): string[] {
  return items.map((item) => `thing ${item}`);
}

describe('requests for one statement', () => {
  it('are run together while it runs, and the first does not wait', async () => {
    const { runs, run, itemsOfRuns } = controlled();
    const batches = new Batches();
    const all = [1, 2, 3, 2].map((item) => batches.run('things', item, run));
    expect(itemsOfRuns()).toEqual([[1]]);
    runs[0]?.end(['one']);
    await nextTurn();
    expect(itemsOfRuns()).toEqual([[1], [2, 3, 2]]);
    const late = batches.run('things', 4, run);
    runs[1]?.end(['two', 'three', 'two again']);
    await nextTurn();
    runs[2]?.end(['four']);
    expect(await Promise.all([...all, late])).toEqual(['one', 'two', 'three', 'two again', 'four']);
    expect(itemsOfRuns()).toEqual([[1], [2, 3, 2], [4]]);
  });

  it('do not wait for those of another', () => {
    const { run, itemsOfRuns } = controlled();
    const batches = new Batches();
    void batches.run('things', 1, run);
    void batches.run('others', 2, run);
    expect(itemsOfRuns()).toEqual([[1], [2]]);
  });

  it('are at most 50 together', async () => {
    const { runs, run, itemsOfRuns } = controlled();
    const batches = new Batches();
    const all = Array.from({ length: 61 }, (_, item) => batches.run('things', item, run));
    for (let turn = 0; turn < 3; turn += 1) {
      runs[turn]?.end(named(runs[turn]?.items));
      await nextTurn();
    }
    expect(itemsOfRuns().map(({ length }) => length)).toEqual([1, 50, 10]);
    expect(await Promise.all(all)).toEqual(named([...Array(61).keys()]));
  });

  it('fail together, and the next ones are run as always', async () => {
    const { runs, run } = controlled();
    const batches = new Batches();
    const first = batches.run('things', 1, run);
    const later = Promise.allSettled([2, 3].map((item) => batches.run('things', item, run)));
    runs[0]?.end(['one']);
    await expect(first).resolves.toBe('one');
    const reason = new Error('away');
    await nextTurn();
    runs[1]?.fail(reason);
    expect(await later).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ]);
    const next = batches.run('things', 4, run);
    runs[2]?.end(['four']);
    await expect(next).resolves.toBe('four');
  });

  it('fail if it cannot be sent', async () => {
    const batches = new Batches();
    const run = () => {
      throw new Error('no pool');
    };
    await expect(batches.run('things', 1, run)).rejects.toThrow('no pool');
    await expect(batches.run('things', 1, run)).rejects.toThrow('no pool');
  });
});
