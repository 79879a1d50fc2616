import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync } from 'node:fs';
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

const REMOVE = `
const { rmSync } = require('node:fs');
for (const directory of process.argv.slice(1)) rmSync(directory, { recursive: true, force: true, maxRetries: 15 });`;

/**
 * A benchmark removes its directory itself, unless a signal ends it. Then another process does: PostgreSQL
 * writes there until it has ended, and tsx does not wait so long.
 */
function removeAtSignal(): void {
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      const options = { detached: true, stdio: 'ignore' } as const;
      spawn(process.execPath, ['--eval', REMOVE, ...made], options).unref();
      process.exit(128 + constants.signals[signal]);
    });
  }
}
