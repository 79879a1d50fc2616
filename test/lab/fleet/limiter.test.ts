import { setImmediate as turn } from 'node:timers/promises';
import { Limiter } from '../../../src/lab/fleet/limiter.js';

/** Work that lasts until the test ends it. */
function startAll(limiter: Limiter, count: number) {
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const all = Array.from({ length: count }, (_, index) =>
    limiter.run(async () => {
      begun.push(index);
      await new Promise<void>((resolve) => ends.set(index, resolve));
      return index;
    }),
  );
  const end = async (index: number) => {
    ends.get(index)?.();
    await turn();
  };
  return { begun, end, all };
}

describe('a limiter', () => {
  it('runs at most its limit at once, the others in the order they came', async () => {
    const { begun, end, all } = startAll(new Limiter(2), 5);
    await turn();
    expect(begun).toEqual([0, 1]);
    await end(1);
    expect(begun).toEqual([0, 1, 2]);
    await end(0);
    await end(2);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    await end(4);
    await end(3);
    expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4]);
  });

  it('starts the next work when one fails', async () => {
    const limiter = new Limiter(1);
    const failing = limiter.run(() => Promise.reject(new Error('no')));
    const next = limiter.run(() => Promise.resolve('yes'));
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('yes');
  });

  it('keeps the order through a long queue', async () => {
    const limiter = new Limiter(3);
    const order: number[] = [];
    const work = Array.from({ length: 25_000 }, (_, index) =>
      limiter.run(async () => {
        await Promise.resolve();
        order.push(index);
      }),
    );
    await Promise.all(work);
    expect(order).toEqual(order.map((_, index) => index));
    expect(order).toHaveLength(25_000);
  });
});
