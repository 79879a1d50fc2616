import { createCipheriv, createDecipheriv } from 'node:crypto';

/** Plain bytes of each chunk but the last, which may have fewer. */
export const CHUNK_BYTES = 64 * 1024;
const TAG_BYTES = 16;
const COUNTER_BYTES = 11;
const CIPHER = 'aes-256-gcm';

export interface ChunkKey {
  /** 32 bytes, of this stream alone: the nonces count from 0. */
  key: Buffer;
  /** Bytes that come before the stream, which it is bound to. */
  associated: Buffer;
}

/** A chunk that was altered, moved, or is the last one of a stream that was cut off. */
export class DamagedChunk extends Error {
  constructor(readonly isLast: boolean) {
    super('a chunk is damaged');
    this.name = 'DamagedChunk';
  }
}

/**
 * Encrypts a stream in chunks with AES-256-GCM: each is its ciphertext and 16 bytes of tag. The nonce is
 * the number of the chunk in 11 bytes and 1 for the last chunk, else 0 (the STREAM construction of
 * Hoang, Reyhanitabar, Rogaway and Vizár), so that chunks cannot be left out, moved or added.
 */
export async function* sealChunks(
  source: AsyncIterable<Buffer>,
  { key, associated }: ChunkKey,
): AsyncGenerator<Buffer> {
  let index = 0;
  for await (const { bytes, isLast } of pieces(source, CHUNK_BYTES)) {
    const cipher = createCipheriv(CIPHER, key, nonceOf(index, isLast));
    cipher.setAAD(associated);
    yield Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
    index += 1;
  }
}

/** The plain bytes of what `sealChunks` made. Throws DamagedChunk before any byte of a damaged chunk. */
export async function* openChunks(
  source: AsyncIterable<Buffer>,
  { key, associated }: ChunkKey,
): AsyncGenerator<Buffer> {
  let index = 0;
  for await (const { bytes, isLast } of pieces(source, CHUNK_BYTES + TAG_BYTES)) {
    if (bytes.length < TAG_BYTES) throw new DamagedChunk(isLast);
    const options = { authTagLength: TAG_BYTES };
    const decipher = createDecipheriv(CIPHER, key, nonceOf(index, isLast), options);
    decipher.setAAD(associated);
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const plain = decipher.update(bytes.subarray(0, -TAG_BYTES));
    try {
      decipher.final();
    } catch {
      throw new DamagedChunk(isLast);
    }
    yield plain;
    index += 1;
  }
}

function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(COUNTER_BYTES + 1);
  nonce.writeUIntBE(index, COUNTER_BYTES - 6, 6);
  nonce[COUNTER_BYTES] = isLast ? 1 : 0;
  return nonce;
}

/** The stream in pieces of one size; the last has what remains, which is nothing of an empty stream. */
async function* pieces(
  source: AsyncIterable<Buffer>,
  size: number,
): AsyncGenerator<{ bytes: Buffer; isLast: boolean }> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const part of source) {
    parts.push(part);
    length += part.length;
    if (length <= size) continue;
    const joined = Buffer.concat(parts, length);
    let start = 0;
    // More than one piece has to be there: only then is the first not the last.
    for (; length - start > size; start += size) {
      yield { bytes: joined.subarray(start, start + size), isLast: false };
    }
    parts = [joined.subarray(start)];
    length -= start;
  }
  yield { bytes: Buffer.concat(parts, length), isLast: true };
}
