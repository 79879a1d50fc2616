import { setImmediate as nextTurn } from 'node:timers/promises';
import { BatchedReads } from '../../../src/db/connection/batched-reads.js';

interface Thing {
  id: number;
  name: string;
}

interface Read {
  ids: number[];
  end: (rows: Thing[]) => void;
  fail: (error: Error) => void;
}

/** Reads that end when the test says so. */
function controlled() {
  const reads: Read[] = [];
  const read = (ids: number[]) =>
    new Promise<Thing[]>((end, fail) => {
      reads.push({ ids, end, fail });
    });
  return { reads, read };
}

function rows(ids: number[]): Thing[] {
  return ids.map((id) => ({ id, name: `thing ${id}` }));
}

describe('reads of single rows', () => {
  it('are together while one runs, and the first does not wait', async () => {
    const { reads, read } = controlled();
    const batched = new BatchedReads<Thing>();
    const all = [1, 2, 3, 2, 4].map((id) => batched.find('things', id, read));
    expect(reads.map(({ ids }) => ids)).toEqual([[1]]);
    reads[0]?.end(rows([1]));
    await nextTurn();
    expect(reads.map(({ ids }) => ids)).toEqual([[1], [2, 3, 4]]);
    reads[1]?.end(rows([4, 2]));
    const [one, two, three, twoAgain, four] = await Promise.all(all);
    expect([one, two, three, four]).toEqual([...rows([1, 2]), undefined, ...rows([4])]);
    expect(twoAgain).toEqual(two);
    expect(twoAgain).not.toBe(two);
  });

  it('of different statements do not wait for each other', () => {
    const { reads, read } = controlled();
    const batched = new BatchedReads<Thing>();
    void batched.find('things', 1, read);
    void batched.find('others', 2, read);
    expect(reads.map(({ ids }) => ids)).toEqual([[1], [2]]);
  });

  it('are at most 50 together', async () => {
    const { reads, read } = controlled();
    const batched = new BatchedReads<Thing>();
    const all = Array.from({ length: 61 }, (_, index) => batched.find('things', index, read));
    for (let turn = 0; turn < 3; turn += 1) {
      reads[turn]?.end(rows(reads[turn]?.ids ?? []));
      await nextTurn();
    }
    expect(reads.map(({ ids }) => ids.length)).toEqual([1, 50, 10]);
    expect((await Promise.all(all)).map((row) => row?.id)).toEqual([...Array(61).keys()]);
  });

  it('that fail reject for those who wait for them, and for nobody else', async () => {
    const { reads, read } = controlled();
    const batched = new BatchedReads<Thing>();
    const first = batched.find('things', 1, read);
    const later = Promise.allSettled([2, 3].map((id) => batched.find('things', id, read)));
    reads[0]?.end(rows([1]));
    await expect(first).resolves.toEqual({ id: 1, name: 'thing 1' });
    const error = new Error('away');
    reads[1]?.fail(error);
    expect(await later).toEqual([
      { status: 'rejected', reason: error },
      { status: 'rejected', reason: error },
    ]);
    const next = batched.find('things', 4, read);
    reads[2]?.end(rows([4]));
    await expect(next).resolves.toEqual({ id: 4, name: 'thing 4' });
  });

  it('that throw at once reject, too', async () => {
    const batched = new BatchedReads<Thing>();
    const read = () => {
      throw new Error('no pool');
    };
    await expect(batched.find('things', 1, read)).rejects.toThrow('no pool');
    await expect(batched.find('things', 1, read)).rejects.toThrow('no pool');
  });
});
