import { StringDecoder } from 'node:string_decoder';
import { LabError } from '../wire/lab-error.js';

const LONGEST_LINE = 1_000_000;

/** Lines of text out of the pieces that a stream delivers; no line is longer than a million. */
export class LineReader {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  /** The lines that this piece completes. Throws LabError when one is too long. */
  read(chunk: Buffer): string[] {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > LONGEST_LINE) throw new LabError('a line of the courier is too long');
    return lines;
  }
}
