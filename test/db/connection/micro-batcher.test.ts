import { MicroBatcher } from '../../../src/db/connection/micro-batcher.js';

interface Item {
  key: string;
  value: number;
}

function createBatcher(
  run: (items: Item[]) => Promise<number[]>,
  limits = { maxBatch: 4, maxInFlight: 1 },
) {
  return new MicroBatcher(run, { ...limits, keyOf: (item: Item) => item.key });
}

const items = (count: number): Item[] =>
  Array.from({ length: count }, (_, value) => ({ key: `k${value}`, value }));

describe('MicroBatcher', () => {
  it('runs the items of one turn together and resolves each with its own result', async () => {
    const sizes: number[] = [];
    const batcher = createBatcher((batch) => {
      sizes.push(batch.length);
      return Promise.resolve(batch.map(({ value }) => value * 10));
    });
    const answers = await Promise.all(items(6).map((item) => batcher.submit(item)));
    expect(answers).toEqual([0, 10, 20, 30, 40, 50]);
    expect(sizes).toEqual([4, 2]);
  });

  it('runs a lone item at once', async () => {
    const batcher = createBatcher((batch) => Promise.resolve(batch.map(() => 1)));
    expect(await batcher.submit({ key: 'a', value: 0 })).toBe(1);
  });

  it('never runs two items with one key at the same time', async () => {
    let underWay = 0;
    let most = 0;
    const batcher = createBatcher(
      async (batch) => {
        underWay += batch.length;
        most = Math.max(most, underWay);
        await new Promise((resolve) => setTimeout(resolve, 5));
        underWay -= batch.length;
        return batch.map(({ value }) => value);
      },
      { maxBatch: 4, maxInFlight: 4 },
    );
    const same = [1, 2, 3].map((value) => batcher.submit({ key: 'same', value }));
    expect(await Promise.all(same)).toEqual([1, 2, 3]);
    expect(most).toBe(1);
  });

  it('runs each item alone when a batch fails, so that only the bad one is rejected', async () => {
    const batcher = createBatcher((batch) =>
      batch.some(({ value }) => value === 2)
        ? Promise.reject(new Error('bad value'))
        : Promise.resolve(batch.map(({ value }) => value)),
    );
    const answers = await Promise.allSettled(items(4).map((item) => batcher.submit(item)));
    expect(answers.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
  });
});
