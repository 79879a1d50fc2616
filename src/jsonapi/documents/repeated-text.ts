/**
 * ASCII that contains one text several times, for a text that changes from row to row. It is written
 * whole for the first row; for the next one of the same length, only what differs is replaced.
 */
export class RepeatedText {
  readonly #pieces: readonly string[];
  #text = '';
  #bytes = Buffer.alloc(0);
  /** Where the text begins. */
  #places: number[] = [];

  /** The text goes between the pieces. */
  constructor(pieces: readonly string[]) {
    this.#pieces = pieces;
  }

  /** The bytes with this text, until the next call. */
  with(text: string): Buffer {
    if (text.length === this.#text.length) this.#replace(text);
    else this.#write(text);
    this.#text = text;
    return this.#bytes;
  }

  #write(text: string): void {
    let length = 0;
    const ends = this.#pieces.slice(0, -1).map((piece) => {
      length += piece.length + text.length;
      return length;
    });
    this.#bytes = Buffer.from(this.#pieces.join(text), 'latin1');
    this.#places = ends.map((end) => end - text.length);
  }

  #replace(text: string): void {
    const bytes = this.#bytes;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === this.#text.charCodeAt(at)) continue;
      for (const place of this.#places) bytes[place + at] = code;
    }
  }
}
