import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

/** A directory that others may pass, as PostgreSQL must when the tests run as root. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'muster-test-'));
  chmodSync(directory, 0o711);
  made.push(directory);
  return directory;
}

/** For `afterAll`. */
export function removeTemporaryDirectories(): void {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
}
