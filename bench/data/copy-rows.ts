import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

/** A value in COPY's text format: bytes as their ASCII text, JSON as its own text. */
export type CopyValue = string | number | boolean | null | undefined;

export interface CopySource {
  table: string;
  columns: readonly string[];
  /** How many rows there will be, for the progress line. */
  total: number;
  rows: Iterable<CopyValue[]>;
}

const CHUNK_CHARACTERS = 256 * 1024;
const SPECIAL = /[\\\n\r\t]/;
const ESCAPES: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** One line on stderr, written over and over; a log file gets the last state only. */
class Progress {
  count = 0;
  private shownAt = 0;
  private readonly startedAt = performance.now();

  constructor(
    private readonly name: string,
    private readonly total: number,
  ) {}

  show(): void {
    const now = performance.now();
    if (!process.stderr.isTTY || now - this.shownAt < 200) return;
    this.shownAt = now;
    process.stderr.write(`\r${this.line()}`);
  }

  end(): void {
    const seconds = ((performance.now() - this.startedAt) / 1000).toFixed(1);
    process.stderr.write(`${process.stderr.isTTY ? '\r' : ''}${this.line()} ${seconds} s\n`);
  }

  private line(): string {
    const share = this.total === 0 ? 1 : this.count / this.total;
    const bar = '#'.repeat(Math.round(share * 24)).padEnd(24, '.');
    return `  ${this.name.padEnd(24)} ${bar} ${this.count.toLocaleString('en').padStart(9)}`;
  }
}

/** Sends all rows in one COPY. Returns how many there were. */
export async function copyRows(client: pg.ClientBase, source: CopySource): Promise<number> {
  const columns = source.columns.map((name) => `"${name}"`).join(', ');
  const stream = client.query(copyFrom(`copy "${source.table}" (${columns}) from stdin`));
  await pipeline(Readable.from(chunks(source)), stream);
  return stream.rowCount;
}

function* chunks({ table, total, rows }: CopySource): Iterable<string> {
  const progress = new Progress(table, total);
  let chunk = '';
  for (const row of rows) {
    chunk += `${row.map(field).join('\t')}\n`;
    progress.count += 1;
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    progress.show();
    chunk = '';
  }
  yield chunk;
  progress.end();
}

function field(value: CopyValue): string {
  if (value === null || value === undefined) return '\\N';
  if (typeof value !== 'string') return String(value);
  return SPECIAL.test(value)
    ? value.replace(/[\\\n\r\t]/g, (found) => ESCAPES[found] ?? '')
    : value;
}
