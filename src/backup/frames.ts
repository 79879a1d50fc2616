import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * What a backup consists of, one after the other: `about`, then for each table `table`, its `rows` and
 * `tableEnd`, then the `masterKey` (if it is in it), the `manifest` and the `end`. A frame is its type
 * (1 byte), the length of its content (4 bytes), the content and the CRC-32 of all these.
 */
export const FRAME = {
  about: 'A',
  table: 'T',
  rows: 'D',
  tableEnd: 'E',
  masterKey: 'K',
  manifest: 'M',
  /** SHA-256 of the header and of every frame before it. Without it a file is not whole. */
  end: 'Z',
} as const;

export type FrameType = (typeof FRAME)[keyof typeof FRAME];

const TYPES: string[] = Object.values(FRAME);
const HEAD_BYTES = 5;
const CRC_BYTES = 4;
/** Far above what is written; a damaged length must not take the memory. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Writes frames, and the digest of them all as the last one. */
export class FrameWriter {
  readonly #digest = createHash('sha256');

  constructor(header: Buffer) {
    this.#digest.update(header);
  }

  frame(type: FrameType, content: Buffer): Buffer {
    const bytes = Buffer.alloc(HEAD_BYTES + content.length + CRC_BYTES);
    bytes.write(type, 'latin1');
    bytes.writeUInt32BE(content.length, 1);
    content.copy(bytes, HEAD_BYTES);
    const end = HEAD_BYTES + content.length;
    bytes.writeUInt32BE(crc32(bytes.subarray(0, end)), end);
    if (type !== FRAME.end) this.#digest.update(bytes);
    return bytes;
  }

  json(type: FrameType, value: object): Buffer {
    return this.frame(type, Buffer.from(JSON.stringify(value)));
  }

  end(): Buffer {
    return this.frame(FRAME.end, this.#digest.digest());
  }
}

export interface Frame {
  type: FrameType;
  content: Buffer;
}

/** A frame that was altered, or is missing; `isCutOff` when the file ends before the frame `end`. */
export class DamagedFrame extends Error {
  constructor(readonly isCutOff: boolean) {
    super(isCutOff ? 'the file ends too early' : 'a frame is damaged');
    this.name = 'DamagedFrame';
  }
}

/** The frames up to and without the one that ends them. Throws DamagedFrame. */
export async function* readFrames(
  source: AsyncIterable<Buffer>,
  header: Buffer,
): AsyncGenerator<Frame> {
  const digest = createHash('sha256').update(header);
  const bytes = new ByteReader(source);
  for (;;) {
    const head = await bytes.take(HEAD_BYTES);
    const type = head.toString('latin1', 0, 1);
    const length = head.readUInt32BE(1);
    if (!TYPES.includes(type) || length > MAX_BYTES) throw new DamagedFrame(false);
    const rest = await bytes.take(length + CRC_BYTES);
    const content = rest.subarray(0, length);
    const crc = rest.readUInt32BE(length);
    if (crc32(content, crc32(head)) !== crc) throw new DamagedFrame(false);
    if (type === FRAME.end) {
      const isWhole = content.equals(digest.digest()) && (await bytes.isAtEnd());
      if (isWhole) return;
      throw new DamagedFrame(false);
    }
    digest.update(head).update(rest);
    yield { type: type as FrameType, content };
  }
}

/** Takes a stream apart into as many bytes as are asked for. */
class ByteReader {
  readonly #source: AsyncIterator<Buffer>;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async take(count: number): Promise<Buffer> {
    while (this.#length < count) {
      if (!(await this.#read())) throw new DamagedFrame(true);
    }
    const [first] = this.#parts;
    const joined =
      first !== undefined && first.length >= count
        ? first
        : Buffer.concat(this.#parts, this.#length);
    const others = joined === first ? this.#parts.slice(1) : [];
    this.#parts = [joined.subarray(count), ...others];
    this.#length -= count;
    return joined.subarray(0, count);
  }

  async isAtEnd(): Promise<boolean> {
    return this.#length === 0 && !(await this.#read());
  }

  /** False at the end. */
  async #read(): Promise<boolean> {
    const { done, value } = await this.#source.next();
    if (done === true) return false;
    this.#parts.push(value);
    this.#length += value.length;
    return true;
  }
}
