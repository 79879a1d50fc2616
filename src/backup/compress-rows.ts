import { Readable } from 'node:stream';
import { constants, createGzip, type Gzip, gzipSync } from 'node:zlib';

/** How many bytes of a table decide how it is compressed. */
const SAMPLE_BYTES = 128 * 1024;
const FASTEST = { level: 1, chunkSize: 64 * 1024 };
/** Huffman coding alone is five times as fast, and compresses text without repetitions. */
const NO_SEARCH = { ...FASTEST, strategy: constants.Z_HUFFMAN_ONLY };
/** Most bytes of a large database are encrypted and cannot be compressed. */
const STORED = { ...FASTEST, level: 0 };
/** A slower method must shrink the sample to this ratio of what the faster one achieves. */
const MAX_RATIO = 0.85;

/** The rows of a table, compressed as suits the first of them. */
export async function* compressRows(rows: Readable): AsyncGenerator<Buffer> {
  const source = rows[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first: Buffer[] = [];
  for (let length = 0; length < SAMPLE_BYTES; ) {
    const { done, value } = await source.next();
    if (done === true) break;
    first.push(value);
    length += value.length;
  }
  const gzip = compressorFor(Buffer.concat(first));
  Readable.from(both(first, source))
    .on('error', (error) => gzip.destroy(error))
    .pipe(gzip);
  yield* gzip as AsyncIterable<Buffer>;
}

function compressorFor(sample: Buffer): Gzip {
  const start = sample.subarray(0, SAMPLE_BYTES);
  const searched = gzipSync(start, FASTEST).length;
  const unsearched = gzipSync(start, NO_SEARCH).length;
  if (searched < MAX_RATIO * Math.min(unsearched, start.length)) return createGzip(FASTEST);
  return createGzip(unsearched < MAX_RATIO * start.length ? NO_SEARCH : STORED);
}

async function* both(first: Buffer[], rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}
