import { createStoredResponses } from '../../../src/db/store/idempotency-repository.js';

const SECRET = Buffer.alloc(32, 1);
const BODY = Buffer.from('{"data":{"attributes":{"url":"https://mdm.example.com/?token=x"}}}');

describe('answers kept for repetitions', () => {
  it('do not open under another key, altered or cut', () => {
    const { close, open } = createStoredResponses(SECRET);
    const kept = close(BODY);
    const altered = Buffer.from(kept);
    altered.writeUInt8(altered.readUInt8(20) ^ 1, 20);
    expect(createStoredResponses(Buffer.alloc(32, 2)).open(kept)).toBeNull();
    expect(open(altered)).toBeNull();
    for (const length of [1, 12, 13, 28, kept.length - 1]) {
      expect([length, open(kept.subarray(0, length))]).toEqual([length, null]);
    }
  });

  it('are closed, each in another way, and open as they were', () => {
    const { close, open } = createStoredResponses(SECRET);
    const [one, other] = [close(BODY), close(BODY)];
    expect(one.equals(other)).toBe(false);
    expect(one.includes('token')).toBe(false);
    expect(createStoredResponses(SECRET).open(one)).toEqual(BODY);
    expect(open(close(Buffer.alloc(0)))).toEqual(Buffer.alloc(0));
  });

  it('of before they were closed are taken as they are', () => {
    expect(createStoredResponses(SECRET).open(BODY)).toEqual(BODY);
    expect(createStoredResponses(SECRET).open(Buffer.alloc(0))).toEqual(Buffer.alloc(0));
  });
});
