import {
  closeSync,
  copyFileSync,
  existsSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
} from 'node:fs';
import type { Account } from './service-account.js';

const LARGEST_BYTES = 5 * 1024 * 1024;
const CHECK_MS = 60_000;

export interface ServerLog {
  /** For the child's output. */
  fd: number;
  close(): void;
}

/** Copied and cut, not renamed: the running server goes on writing to the end of the same file. */
function rotateIfLarge(path: string, fd: number): void {
  if (fstatSync(fd).size <= LARGEST_BYTES) return;
  copyFileSync(path, `${path}.1`);
  ftruncateSync(fd, 0);
}

/** The log of the server's output, kept to two files of about 5 MB. */
export function openServerLog(path: string, account: Account): ServerLog {
  const fd = openSync(path, 'a', 0o600);
  if (account !== null) fchownSync(fd, account.uid, account.gid);
  rotateIfLarge(path, fd);
  const timer = setInterval(() => rotateIfLarge(path, fd), CHECK_MS).unref();
  return {
    fd,
    close: () => {
      clearInterval(timer);
      closeSync(fd);
    },
  };
}

/** The last lines, to say why the server did not start. */
export function lastLines(path: string, count = 5): string {
  if (!existsSync(path)) return '';
  return readFileSync(path, 'utf8').trim().split('\n').slice(-count).join(' | ');
}
