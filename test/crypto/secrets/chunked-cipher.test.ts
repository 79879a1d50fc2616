import { randomBytes } from 'node:crypto';
import {
  CHUNK_BYTES,
  DamagedChunk,
  openChunks,
  sealChunks,
} from '../../../src/crypto/secrets/chunked-cipher.js';

const KEY = { key: randomBytes(32), associated: Buffer.from('header') };
const SEALED_BYTES = CHUNK_BYTES + 16;

async function* parts(bytes: Buffer, size = 10_000): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size)
    yield bytes.subarray(start, start + size);
}

async function all(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const seal = (plain: Buffer) => all(sealChunks(parts(plain), KEY));
const open = (sealed: Buffer, key = KEY) => all(openChunks(parts(sealed, 70_001), key));

describe('a stream sealed in chunks', () => {
  it.each([
    ['nothing', 0],
    ['a byte', 1],
    ['one chunk', CHUNK_BYTES],
    ['a chunk and a byte', CHUNK_BYTES + 1],
    ['three chunks', 3 * CHUNK_BYTES],
  ])('opens to what it was made of: %s', async (_what, size) => {
    const plain = randomBytes(size);
    const sealed = await seal(plain);
    expect(sealed.length).toBe(size + 16 * Math.max(1, Math.ceil(size / CHUNK_BYTES)));
    expect((await open(sealed)).equals(plain)).toBe(true);
  });

  describe('is refused', () => {
    const plain = randomBytes(2 * CHUNK_BYTES + 100);
    let sealed: Buffer;
    beforeAll(async () => {
      sealed = await seal(plain);
    });

    it.each([
      ['under another key', { ...KEY, key: randomBytes(32) }],
      ['after another header', { ...KEY, associated: Buffer.from('headers') }],
    ])('%s', async (_what, key) => {
      await expect(open(sealed, key)).rejects.toThrow(DamagedChunk);
    });

    it('with a bit changed in any chunk', async () => {
      for (const at of [0, SEALED_BYTES - 1, SEALED_BYTES, sealed.length - 1]) {
        const changed = Buffer.from(sealed);
        changed[at] = (changed[at] ?? 0) ^ 1;
        await expect(open(changed)).rejects.toThrow(DamagedChunk);
      }
    });

    it('cut off, also after a whole chunk', async () => {
      for (const length of [0, 15, SEALED_BYTES, 2 * SEALED_BYTES, sealed.length - 1]) {
        await expect(open(sealed.subarray(0, length))).rejects.toThrow(DamagedChunk);
      }
    });

    it('with chunks moved, left out, repeated or added', async () => {
      const [first, second, last] = [0, 1, 2].map((n) =>
        sealed.subarray(n * SEALED_BYTES, (n + 1) * SEALED_BYTES),
      ) as [Buffer, Buffer, Buffer];
      for (const order of [
        [second, first, last],
        [first, last],
        [first, first, second, last],
        [first, second, last, last],
      ]) {
        await expect(open(Buffer.concat(order))).rejects.toThrow(DamagedChunk);
      }
    });
  });
});
