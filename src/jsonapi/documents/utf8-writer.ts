/** Size of the first chunk: most documents fit into it. */
const FIRST_BYTES = 16 * 1024;
const CHUNK_BYTES = 64 * 1024;

/** Longer texts are encoded by Node, which takes longer to call. */
const SHORT = 48;
/** Longer bytes are copied by V8, for the same reason. */
const FEW = 24;

const [SPACE, QUOTE, BACKSLASH, DELETE] = [0x20, 0x22, 0x5c, 0x7f] as const;

/**
 * Writes a large document as UTF-8 from many small pieces. A string that grows by them would leave more
 * garbage behind than the document is long, several times over.
 */
export class Utf8Writer {
  readonly #onChunk: (chunk: Buffer) => void;
  #chunk = Buffer.allocUnsafe(FIRST_BYTES);
  #length = 0;

  /** `onChunk` gets the bytes in chunks, the last one from `finish`. */
  constructor(onChunk: (chunk: Buffer) => void) {
    this.#onChunk = onChunk;
  }

  /** Well-formed text. */
  text(text: string): void {
    if (text.length > SHORT || !this.ascii(text, 0, text.length)) this.#encode(text);
  }

  /** A string of JSON, as `JSON.stringify` writes it. */
  json(text: string): void {
    const { length } = text;
    if (length > SHORT) {
      this.text(JSON.stringify(text));
      return;
    }
    this.#reserve(length + 2);
    const chunk = this.#chunk;
    let place = this.#length;
    chunk[place] = QUOTE;
    for (let at = 0; at < length; at += 1) {
      const code = text.charCodeAt(at);
      if (code < SPACE || code >= DELETE || code === QUOTE || code === BACKSLASH) {
        this.text(JSON.stringify(text));
        return;
      }
      place += 1;
      chunk[place] = code;
    }
    chunk[place + 1] = QUOTE;
    this.#length = place + 2;
  }

  /** A part of a text that is short. False, and nothing is written, if it is not ASCII. */
  ascii(text: string, start: number, end: number): boolean {
    this.#reserve(end - start);
    const chunk = this.#chunk;
    const offset = this.#length - start;
    for (let at = start; at < end; at += 1) {
      const code = text.charCodeAt(at);
      if (code > DELETE) return false;
      chunk[offset + at] = code;
    }
    this.#length += end - start;
    return true;
  }

  /** UTF-8 that was prepared before. */
  bytes(bytes: Uint8Array): void {
    const { length } = bytes;
    if (length > CHUNK_BYTES) {
      this.#flush();
      this.#onChunk(Buffer.from(bytes));
      return;
    }
    this.#reserve(length);
    const start = this.#length;
    this.#length += length;
    const chunk = this.#chunk;
    if (length > FEW) chunk.set(bytes, start);
    else for (let at = 0; at < length; at += 1) chunk[start + at] = bytes[at] as number;
  }

  finish(): void {
    this.#flush();
  }

  #encode(text: string): void {
    const most = 3 * text.length;
    if (most > CHUNK_BYTES) {
      this.#flush();
      this.#onChunk(Buffer.from(text));
      return;
    }
    this.#reserve(most);
    this.#length += this.#chunk.write(text, this.#length);
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#chunk.length) return;
    this.#flush();
    this.#chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  }

  #flush(): void {
    if (this.#length === 0) return;
    this.#onChunk(this.#chunk.subarray(0, this.#length));
    this.#chunk = this.#chunk.subarray(this.#length);
    this.#length = 0;
  }
}
