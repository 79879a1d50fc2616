import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A new directory in the system's temporary one, which others may pass: as root, PostgreSQL's account could not reach its
 * files there, and they would be kept elsewhere, where no bench removes them.
 */
export function makeBenchDirectory(prefix = 'muster-bench-'): string {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  chmodSync(directory, 0o711);
  if (made.push(directory) === 1) removeAtSignal();
  return directory;
}

const made: string[] = [];

/** A benchmark removes its directory itself, unless a signal ends it. */
function removeAtSignal(): void {
  const remove = () => {
    for (const directory of made)
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  };
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      // Last: PostgreSQL is stopped before.
      process.on('exit', remove);
      process.exit(128 + constants.signals[signal]);
    });
  }
}
