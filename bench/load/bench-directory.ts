import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A new directory in the system's temporary one, which others may pass: as root, PostgreSQL's account could not reach its
 * files there, and they would be kept elsewhere, where no bench removes them.
 */
export function makeBenchDirectory(prefix = 'muster-bench-'): string {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  chmodSync(directory, 0o711);
  return directory;
}
