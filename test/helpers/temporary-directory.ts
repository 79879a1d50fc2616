import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const PLENTY_BYTES = 2 * 1024 ** 3;
const made: string[] = [];

/**
 * Where databases of tests lie: in memory where there is plenty, since a database is hundreds of
 * new files, for which ext4 takes thirty times as long.
 */
export function temporaryRoot(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= PLENTY_BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** A directory that others may pass, as PostgreSQL must when the tests run as root. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(temporaryRoot(), 'muster-test-'));
  chmodSync(directory, 0o711);
  made.push(directory);
  return directory;
}

/** For `afterAll`. */
export function removeTemporaryDirectories(): void {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
}
