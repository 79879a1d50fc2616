import { KnownPayloads } from '../../../src/db/device-path/known-payloads.js';

const hash = (index: number) => Buffer.alloc(32, index);

describe('the shared payloads that a process knows', () => {
  it('are named to the database, which then returns no bytes of them', () => {
    const payloads = new KnownPayloads();
    const first = payloads.snapshot();
    expect(first.hashes).toEqual([]);
    expect(first.bodyOf(hash(1), null)).toBeUndefined();
    const body = Buffer.from('a');
    expect(first.bodyOf(hash(1), body)).toBe(body);
    const second = payloads.snapshot();
    expect(second.hashes).toEqual([hash(1)]);
    expect(second.bodyOf(hash(1), null)).toBe(body);
  });

  it('stay known to a statement under way, whatever comes meanwhile', () => {
    const payloads = new KnownPayloads();
    const body = Buffer.from('a');
    payloads.snapshot().bodyOf(hash(0), body);
    const underWay = payloads.snapshot();
    for (let index = 1; index <= 40; index += 1) {
      payloads.snapshot().bodyOf(hash(index), Buffer.of(index));
    }
    expect(payloads.snapshot().hashes).not.toContainEqual(hash(0));
    expect(underWay.bodyOf(hash(0), null)).toBe(body);
  });

  it('are at most 32, of at most 32 MB, and those used last', () => {
    const payloads = new KnownPayloads();
    for (let index = 0; index < 32; index += 1) {
      payloads.snapshot().bodyOf(hash(index), Buffer.alloc(10));
    }
    payloads.snapshot().bodyOf(hash(0), null);
    payloads.snapshot().bodyOf(hash(99), Buffer.alloc(10));
    const { hashes } = payloads.snapshot();
    expect([hashes.length, hashes.some((one) => one.equals(hash(0)))]).toEqual([32, true]);
    expect(hashes.some((one) => one.equals(hash(1)))).toBe(false);
    payloads.snapshot().bodyOf(hash(100), Buffer.alloc(31 * 1024 * 1024));
    payloads.snapshot().bodyOf(hash(101), Buffer.alloc(2 * 1024 * 1024));
    expect(payloads.snapshot().hashes).toEqual([hash(101)]);
  });
});
