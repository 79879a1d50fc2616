import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface OpenSsl {
  /** Where the command runs. */
  directory: string;
  /** Runs the command with the directory as working directory; its standard output. */
  run(...args: string[]): Buffer;
  write(name: string, bytes: Buffer | string): void;
  read(name: string): Buffer;
  remove(): void;
}

export function openSsl(): OpenSsl {
  const cwd = mkdtempSync(join(tmpdir(), 'muster-openssl-'));
  return {
    directory: cwd,
    run: (...args) => execFileSync('openssl', args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] }),
    write: (name, bytes) => writeFileSync(join(cwd, name), bytes),
    read: (name) => readFileSync(join(cwd, name)),
    remove: () => rmSync(cwd, { recursive: true, force: true }),
  };
}
