import { createHash } from 'node:crypto';
import { pipeline, Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { sealChunks } from '../crypto/secrets/chunked-cipher.js';
import type { Snapshot, TableCopy } from '../db/backup/snapshot.js';
import { type BackupHeader, headerDigest } from './backup-header.js';
import { compressRows } from './compress-rows.js';
import { FRAME, FrameWriter } from './frames.js';
import type { About, Manifest, TableTotals } from './manifest.js';

/** How far a backup is. */
export interface BackupProgress {
  tablesDone: number;
  tablesTotal: number;
  /** Rows of the tables that are done. */
  rows: number;
  /** Bytes of the rows so far, before compression. */
  bytes: number;
}

export interface BackupContent {
  header: BackupHeader;
  about: About;
  snapshot: Snapshot;
  /** To be part of it; only of an encrypted one. */
  masterKey?: Buffer | undefined;
  onProgress?: ((progress: BackupProgress) => void) | undefined;
}

/** The bytes of a backup, read from the snapshot as fast as they are taken. */
export async function* backupStream(content: BackupContent): AsyncGenerator<Buffer> {
  const { header } = content;
  yield header.line;
  const frames = backupFrames(content);
  if (header.key === undefined) yield* frames;
  else yield* sealChunks(frames, { key: header.key, associated: headerDigest(header) });
}

async function* backupFrames(content: BackupContent): AsyncGenerator<Buffer> {
  const { header, about, snapshot, masterKey, onProgress = () => undefined } = content;
  const writer = new FrameWriter(header.line);
  yield writer.json(FRAME.about, about);
  const tables: Manifest['tables'] = [];
  const done = { tablesDone: 0, tablesTotal: snapshot.tables.length, rows: 0, bytes: 0 };
  for (const table of snapshot.tables) {
    const { name, columns, rowFormat } = table;
    const start = { name, columns, row_format: rowFormat };
    yield writer.json(FRAME.table, start);
    const totals = yield* tableRows(table, { snapshot, writer }, (bytes) =>
      onProgress({ ...done, bytes: done.bytes + bytes }),
    );
    yield writer.json(FRAME.tableEnd, totals);
    tables.push({ ...start, ...totals });
    done.tablesDone += 1;
    done.rows += totals.rows;
    done.bytes += totals.bytes;
  }
  if (masterKey !== undefined) yield writer.frame(FRAME.masterKey, masterKey);
  const manifest: Manifest = { ...about, tables, sequences: await snapshot.sequences() };
  yield writer.json(FRAME.manifest, manifest);
  yield writer.end();
  onProgress(done);
}

async function* tableRows(
  table: TableCopy,
  { snapshot, writer }: { snapshot: Snapshot; writer: FrameWriter },
  onBytes: (bytes: number) => void,
): AsyncGenerator<Buffer, TableTotals> {
  const { stream, countRows } = snapshot.copyOut(table);
  const measure = new Measure();
  // A failure of one is that of the last, which the loop meets.
  pipeline(stream, measure, () => undefined);
  for await (const chunk of compressRows(measure)) {
    yield writer.frame(FRAME.rows, chunk);
    onBytes(measure.bytes);
  }
  return { rows: await countRows(), bytes: measure.bytes, sha256: measure.sha256() };
}

/** Passes bytes on, counts them and computes their digest. */
export class Measure extends Transform {
  readonly #digest = createHash('sha256');
  bytes = 0;

  override _transform(chunk: Buffer, _encoding: string, done: (e: null, c: Buffer) => void): void {
    this.#digest.update(chunk);
    this.bytes += chunk.length;
    done(null, chunk);
  }

  /** To be called once, at the end. */
  sha256(): string {
    return this.#digest.digest('hex');
  }
}

/** Which part of its time a backup of a serving process works: the rest is for devices, whose database it reads. */
const SHARE = 1 / 6;
/** A request waits for no more of it. */
const BURST_MS = 2;
/** A busy machine has made a burst long already. */
const MAX_PAUSE_MS = 50;

/** The same bytes at a pace that leaves room. What makes them waits as well: it is never far ahead. */
export async function* paced(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let startedAt = performance.now();
  for await (const chunk of bytes) {
    yield chunk;
    const worked = performance.now() - startedAt;
    if (worked < BURST_MS) continue;
    await sleep(Math.min(worked * (1 / SHARE - 1), MAX_PAUSE_MS));
    startedAt = performance.now();
  }
}
