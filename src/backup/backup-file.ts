import { randomBytes } from 'node:crypto';
import { type FileHandle, link, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { AppError } from '../errors.js';

const PARTIAL = /^(.+)\.[0-9a-f]{8}\.partial$/;
const DAY_MS = 86_400_000;
/** All of a large file at once would hold up what PostgreSQL writes to the same disk. */
const SYNC_BYTES = 4 * 1024 * 1024;

/** The name that a file will have, which is being written under this one; undefined for any other. */
export function nameOfPartial(name: string): string | undefined {
  return PARTIAL.exec(name)?.[1];
}

/**
 * Writes a backup as FILE.XXXXXXXX.partial, which only the owner can read and no other backup writes to, and
 * gives it its name once all of it is on the disk. AppError conflict for a file that exists, bad_request for one
 * that cannot be written. Returns its size.
 */
export async function writeBackupFile(
  file: string,
  bytes: AsyncIterable<Buffer>,
  signal?: AbortSignal,
): Promise<number> {
  await refuseExisting(file);
  await removePartials(file, DAY_MS).catch(unwritable(file));
  const partial = `${file}.${randomBytes(4).toString('hex')}.partial`;
  const handle = await open(partial, 'wx', 0o600).catch(unwritable(partial));
  try {
    const size = await writeAll(handle, bytes, { partial, signal });
    await handle.close();
    await name(partial, file);
    await flushDirectory(dirname(resolve(file)));
    return size;
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(partial, { force: true });
    throw error;
  }
}

/** Deletes what killed processes have left of this file, from `age` milliseconds on. */
export async function removePartials(file: string, age: number): Promise<void> {
  const directory = dirname(resolve(file));
  for (const name of await readdir(directory)) {
    if (nameOfPartial(name) !== basename(file)) continue;
    const stats = await stat(join(directory, name)).catch(() => undefined);
    if (stats !== undefined && Date.now() - stats.mtimeMs >= age) {
      await rm(join(directory, name), { force: true });
    }
  }
}

/** File systems that know no second name of a file. */
const WITHOUT_LINKS = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

/** In place of `rename`, which would replace the file of a backup that was made meanwhile. */
async function name(partial: string, file: string): Promise<void> {
  try {
    await link(partial, file);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw existing(file);
    if (!WITHOUT_LINKS.has(code)) return unwritable(file)(error as Error);
    await refuseExisting(file);
    await rename(partial, file).catch(unwritable(file));
  }
  await rm(partial, { force: true });
}

async function refuseExisting(file: string): Promise<void> {
  const isThere = await stat(file).then(
    () => true,
    () => false,
  );
  if (isThere) throw existing(file);
}

function existing(file: string): AppError {
  return new AppError('conflict', 409, `${file} exists: name another file, or move this one away`);
}

async function writeAll(
  handle: FileHandle,
  bytes: AsyncIterable<Buffer>,
  { partial, signal }: { partial: string; signal: AbortSignal | undefined },
): Promise<number> {
  let [size, unsynced] = [0, 0];
  let syncing = Promise.resolve();
  for await (const part of bytes) {
    signal?.throwIfAborted();
    await handle.writeFile(part).catch(unwritable(partial));
    size += part.length;
    unsynced += part.length;
    if (unsynced < SYNC_BYTES) continue;
    await syncing.catch(unwritable(partial));
    syncing = handle.datasync();
    syncing.catch(() => undefined); // The next round, or the end, meets it.
    unsynced = 0;
  }
  await syncing.catch(unwritable(partial));
  await handle.sync().catch(unwritable(partial));
  return size;
}

function unwritable(file: string): (cause: Error) => never {
  return (cause) => {
    const message = `${file} cannot be written (${cause.message})`;
    throw new AppError('bad_request', 400, message, { cause });
  };
}

/** Makes the new name survive a loss of power. */
async function flushDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
