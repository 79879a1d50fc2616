import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { DamagedChunk, openChunks } from '../crypto/secrets/chunked-cipher.js';
import { AppError } from '../errors.js';
import {
  type BackupHeader,
  headerDigest,
  MAGIC,
  MAX_HEADER_BYTES,
  readHeader,
} from './backup-header.js';
import { Measure } from './backup-stream.js';
import { DamagedFrame, FRAME, type Frame, readFrames } from './frames.js';
import {
  type About,
  type Manifest,
  parseAbout,
  parseManifest,
  parseTable,
  parseTotals,
  type TableStart,
} from './manifest.js';

/** A backup whose header was read. */
export interface OpenBackup {
  file: string;
  size: number;
  header: BackupHeader;
}

export interface ReadProgress {
  table: string;
  /** Bytes of the file that have been read. */
  bytesRead: number;
  size: number;
}

export interface BackupVisitor {
  /** What it is of; throws to read no further. */
  onAbout?(about: About): void;
  /** Consumes the rows, as COPY takes them. Without it the bytes are checked as they are stored. */
  onTable?: ((table: TableStart, rows: Readable) => Promise<void>) | undefined;
  onProgress?: ((progress: ReadProgress) => void) | undefined;
}

export interface ReadBackup {
  manifest: Manifest;
  /** If it is part of the backup. */
  masterKey: Buffer | undefined;
}

/** AppError naming the file: 400 for what is no backup, 403 for a wrong passphrase, 409 for a newer one. */
export async function openBackup(
  file: string,
  passphrase: () => Promise<string>,
): Promise<OpenBackup> {
  const handle = await open(file, 'r').catch((cause: Error) => {
    throw new AppError('bad_request', 400, `${file} cannot be read (${cause.message})`, { cause });
  });
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) {
      const message = `${file} is no file: a backup is read twice, so copy it into a file first`;
      throw new AppError('bad_request', 400, message);
    }
    const { size } = stats;
    return { file, size, header: await readHeader(await firstLine(handle), passphrase) };
  } catch (error) {
    throw named(file, error);
  } finally {
    await handle.close();
  }
}

async function firstLine(handle: FileHandle): Promise<Buffer> {
  const bytes = Buffer.alloc(MAX_HEADER_BYTES);
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
  const end = bytes.subarray(0, bytesRead).indexOf('\n');
  return end < 0 ? bytes.subarray(0, MAGIC.length) : bytes.subarray(0, end + 1);
}

function named(file: string, error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, status, message } = error;
  return new AppError(code, status, `${file}: ${message}`, { cause: error });
}

/**
 * Reads all of a backup in constant memory, and checks every byte of it. AppError 400 that names the
 * damaged table.
 */
export async function readBackup(backup: OpenBackup, visitor: BackupVisitor): Promise<ReadBackup> {
  const place = { at: 'before the first table' };
  const { header } = backup;
  const source = createReadStream(backup.file, {
    start: header.line.length,
    highWaterMark: 262_144,
  });
  const bytes = source as AsyncIterable<Buffer>;
  const { key } = header;
  const plain =
    key === undefined ? bytes : openChunks(bytes, { key, associated: headerDigest(header) });
  try {
    const frames = readFrames(plain, header.line);
    return await walk(frames, visitor, (table, isInside) => {
      place.at = placeOf(table, { isInside, isEncrypted: key !== undefined });
      visitor.onProgress?.({ table, bytesRead: source.bytesRead, size: backup.size });
    });
  } catch (error) {
    throw explain(error, backup.file, place.at);
  } finally {
    source.destroy();
  }
}

/** A chunk of an encrypted backup can hold more than one table. */
function placeOf(
  table: string,
  { isInside, isEncrypted }: { isInside: boolean; isEncrypted: boolean },
): string {
  if (isEncrypted) return `in or after the table ${table}`;
  return `${isInside ? 'in' : 'after'} the table ${table}`;
}

type OnPlace = (table: string, isInside: boolean) => void;

async function walk(
  frames: AsyncGenerator<Frame>,
  visitor: BackupVisitor,
  onPlace: OnPlace,
): Promise<ReadBackup> {
  const read: Partial<ReadBackup> = {};
  for (let next = await frames.next(); !next.done; next = await frames.next()) {
    const { type, content } = next.value;
    if (type === FRAME.about) visitor.onAbout?.(parseAbout(content));
    if (type === FRAME.masterKey) read.masterKey = Buffer.from(content);
    if (type === FRAME.manifest) read.manifest = parseManifest(content);
    if (type !== FRAME.table) continue;
    const table = parseTable(content);
    onPlace(table.name, true);
    await walkTable(frames, table, { visitor, onPlace });
    onPlace(table.name, false);
  }
  const { manifest, masterKey } = read;
  if (manifest === undefined) throw new DamagedFrame(false);
  return { manifest, masterKey };
}

async function walkTable(
  frames: AsyncGenerator<Frame>,
  table: TableStart,
  { visitor, onPlace }: { visitor: BackupVisitor; onPlace: OnPlace },
): Promise<void> {
  const end: { content?: Buffer } = {};
  const compressed = compressedRows(frames, end, () => onPlace(table.name, true));
  if (visitor.onTable === undefined) {
    for await (const _part of compressed);
    return;
  }
  const rows = new Measure();
  // A failure of one is that of the last, which the visitor meets.
  pipeline(
    Readable.from(compressed),
    createGunzip({ chunkSize: ROWS_BYTES }),
    rows,
    () => undefined,
  );
  await visitor.onTable(table, rows);
  if (end.content === undefined) throw new DamagedFrame(false);
  const { bytes, sha256 } = parseTotals(end.content);
  if (bytes !== rows.bytes || sha256 !== rows.sha256()) throw new DamagedFrame(false);
}

async function* compressedRows(
  frames: AsyncGenerator<Frame>,
  end: { content?: Buffer },
  onFrame: () => void,
): AsyncGenerator<Buffer> {
  for (;;) {
    const { done, value } = await frames.next();
    if (done === true) throw new DamagedFrame(true);
    if (value.type === FRAME.tableEnd) {
      end.content = value.content;
      return;
    }
    if (value.type !== FRAME.rows) throw new DamagedFrame(false);
    onFrame();
    yield value.content;
  }
}

/** Bytes of rows at a time: each piece costs a turn of the event loop. */
const ROWS_BYTES = 64 * 1024;

const ZLIB_CODES = ['Z_DATA_ERROR', 'Z_BUF_ERROR', 'ERR_STREAM_PREMATURE_CLOSE'];

function explain(error: unknown, file: string, place: string): unknown {
  const isZlib = ZLIB_CODES.includes(String((error as NodeJS.ErrnoException | undefined)?.code));
  const isDamaged = error instanceof DamagedFrame || error instanceof DamagedChunk || isZlib;
  if (!isDamaged) return named(file, error);
  const isCutOff =
    (error instanceof DamagedFrame && error.isCutOff) ||
    (error instanceof DamagedChunk && error.isLast);
  const what = isCutOff ? 'is cut off or damaged' : 'is damaged';
  const message = `${file} ${what} ${place}; nothing was changed. Use another copy of this backup.`;
  return new AppError('bad_request', 400, message, { cause: error });
}
