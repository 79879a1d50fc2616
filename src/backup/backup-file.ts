import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { AppError } from '../errors.js';

/** Of a file that is being written: it never has the name of a whole one. */
export const PARTIAL = '.partial';

/**
 * Writes a backup as FILE.partial, which only the owner can read, and renames it once all of it is on
 * the disk. AppError conflict for a file that exists, bad_request for one that cannot be written.
 * Returns its size.
 */
export async function writeBackupFile(
  file: string,
  bytes: AsyncIterable<Buffer>,
  signal?: AbortSignal,
): Promise<number> {
  await refuseExisting(file);
  const partial = `${file}${PARTIAL}`;
  // Of a backup that was killed; its mode may be another.
  await rm(partial, { force: true }).catch(unwritable(partial));
  const handle = await open(partial, 'wx', 0o600).catch(unwritable(partial));
  try {
    const size = await writeAll(handle, bytes, { partial, signal });
    await handle.close();
    await rename(partial, file).catch(unwritable(file));
    await flushDirectory(dirname(resolve(file)));
    return size;
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(partial, { force: true });
    throw error;
  }
}

async function refuseExisting(file: string): Promise<void> {
  const isThere = await stat(file).then(
    () => true,
    () => false,
  );
  if (!isThere) return;
  throw new AppError('conflict', 409, `${file} exists: name another file, or move this one away`);
}

async function writeAll(
  handle: FileHandle,
  bytes: AsyncIterable<Buffer>,
  { partial, signal }: { partial: string; signal: AbortSignal | undefined },
): Promise<number> {
  let size = 0;
  for await (const part of bytes) {
    signal?.throwIfAborted();
    await handle.writeFile(part).catch(unwritable(partial));
    size += part.length;
  }
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
