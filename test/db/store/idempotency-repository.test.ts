import { StoredResponses } from '../../../src/db/store/idempotency-repository.js';

const SECRET = Buffer.alloc(32, 1);
const BODY = Buffer.from('{"data":{"attributes":{"url":"https://mdm.example.com/?token=x"}}}');

describe('stored responses', () => {
  it('do not open under another key, altered or truncated', () => {
    const responses = new StoredResponses(SECRET);
    const sealed = responses.seal(BODY);
    const altered = Buffer.from(sealed);
    altered.writeUInt8(altered.readUInt8(20) ^ 1, 20);
    expect(new StoredResponses(Buffer.alloc(32, 2)).open(sealed)).toBeNull();
    expect(responses.open(altered)).toBeNull();
    for (const length of [1, 12, 13, 28, sealed.length - 1]) {
      expect([length, responses.open(sealed.subarray(0, length))]).toEqual([length, null]);
    }
  });

  it('are sealed with a new nonce each time, and open as they were', () => {
    const responses = new StoredResponses(SECRET);
    const [one, other] = [responses.seal(BODY), responses.seal(BODY)];
    expect(one.equals(other)).toBe(false);
    expect(one.includes('token')).toBe(false);
    expect(new StoredResponses(SECRET).open(one)).toEqual(BODY);
    expect(responses.open(responses.seal(Buffer.alloc(0)))).toEqual(Buffer.alloc(0));
  });

  it('from before they were sealed open as they are', () => {
    expect(new StoredResponses(SECRET).open(BODY)).toEqual(BODY);
    expect(new StoredResponses(SECRET).open(Buffer.alloc(0))).toEqual(Buffer.alloc(0));
  });
});
