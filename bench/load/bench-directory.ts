import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A new directory in the system's temporary one, which others may pass: as root, PostgreSQL's account could not reach its
 * files there, and they would be kept elsewhere, where no bench removes them.
 */
export function makeBenchDirectory(prefix = 'muster-bench-'): string {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  chmodSync(directory, 0o711);
  if (made.push(directory) === 1) removeAtExit();
  return directory;
}

const made: string[] = [];

const REMOVE = `
const { rmSync } = require('node:fs');
for (const directory of process.argv.slice(1)) rmSync(directory, { recursive: true, force: true, maxRetries: 15 });`;

/**
 * A benchmark removes its directory itself, unless a signal or an exception ends it. Then another process
 * does: PostgreSQL writes there until it has ended, and tsx does not wait so long.
 */
function removeAtExit(): void {
  process.once('exit', () => {
    const left = made.filter((directory) => existsSync(directory));
    if (left.length === 0) return;
    const options = { detached: true, stdio: 'ignore' } as const;
    spawn(process.execPath, ['--eval', REMOVE, ...left], options).unref();
  });
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  }
}
