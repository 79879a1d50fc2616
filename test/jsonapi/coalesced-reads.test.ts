import { CoalescedReads } from '../../src/jsonapi/coalesced-reads.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Reads that the test ends one by one, in the order in which they began. */
function reader() {
  const begun: { resolve(value: number): void; reject(error: Error): void }[] = [];
  const read = () =>
    new Promise<number>((resolve, reject) => {
      begun.push({ resolve, reject });
    });
  return { begun, read };
}

describe('coalesced reads', () => {
  it('begin at once when none of the kind runs', () => {
    const { begun, read } = reader();
    const reads = new CoalescedReads();
    void reads.share('a', read);
    void reads.share('b', read);
    expect(begun).toHaveLength(2);
  });

  it('share the read that begins after they came, and never one that runs already', async () => {
    const { begun, read } = reader();
    const reads = new CoalescedReads();
    const all = [1, 2, 3].map(() => reads.share('a', read));
    expect(begun).toHaveLength(1);
    begun[0]?.resolve(10);
    await turn();
    expect(begun).toHaveLength(2);
    const later = reads.share('a', read);
    begun[1]?.resolve(20);
    await turn();
    expect(begun).toHaveLength(3);
    begun[2]?.resolve(30);
    expect(await Promise.all([...all, later])).toEqual([10, 20, 20, 30]);
    await turn();
    void reads.share('a', read);
    expect(begun).toHaveLength(4);
  });

  it('fail together, and not because the one before failed', async () => {
    const { begun, read } = reader();
    const reads = new CoalescedReads();
    const all = [1, 2, 3].map(() => reads.share('a', read).catch((error: Error) => error.message));
    begun[0]?.reject(new Error('first'));
    await turn();
    begun[1]?.reject(new Error('second'));
    expect(await Promise.all(all)).toEqual(['first', 'second', 'second']);
    await turn();
    void reads.share('a', read);
    expect(begun).toHaveLength(3);
  });

  it('are cancelled when all that wait have left, and only then', async () => {
    const reads = new CoalescedReads();
    const signals: AbortSignal[] = [];
    const { begun, read } = reader();
    const noted = (signal: AbortSignal) => {
      signals.push(signal);
      return read();
    };
    const [first, second, third] = [1, 2, 3].map(() => new AbortController());
    const running = reads.share('a', noted, first?.signal);
    const both = [second, third].map((one) => reads.share('a', noted, one?.signal));
    second?.abort();
    begun[0]?.resolve(10);
    expect(await running).toBe(10);
    await turn();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
    third?.abort('both have left');
    expect([signals[1]?.aborted, signals[1]?.reason]).toEqual([true, 'both have left']);
    begun[1]?.resolve(20);
    expect(await Promise.all(both)).toEqual([20, 20]);
  });

  it('do not begin when those that wait have left, and begin for one that comes after them', async () => {
    const { begun, read } = reader();
    const reads = new CoalescedReads();
    void reads.share('a', read);
    const gone = new AbortController();
    const abandoned = reads.share('a', read, gone.signal);
    gone.abort(new Error('gone'));
    const later = reads.share('a', read);
    begun[0]?.resolve(10);
    await expect(abandoned).rejects.toThrow('gone');
    await turn();
    expect(begun).toHaveLength(2);
    begun[1]?.resolve(20);
    expect(await later).toBe(20);
  });
});
