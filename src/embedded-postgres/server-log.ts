import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { unavailable } from '../errors.js';
import { actAs, NotRegularError, openRegularFile, readRegularFile } from './account-files.js';
import type { Account } from './service-account.js';

const MAX_BYTES = 5 * 1024 * 1024;
const COPIED_BYTES = 256 * 1024;
const CHECK_MS = 60_000;
const SHOWN_LINES = 5;

export interface ServerLog {
  /** For the child's output. */
  fd: number;
  close(): void;
}

/** Readable, to copy it. */
const APPEND = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;

/** The log of the server's output, kept to two files of about 5 MB. */
export function openServerLog(path: string, account: Account): ServerLog {
  const rotate = () => actAs(account, () => rotateIfLarge(path, fd));
  let fd: number;
  try {
    fd = actAs(account, () => openOwnFile(path));
    rotate();
  } catch (cause) {
    const { message } = cause as Error;
    const by = account === null ? '' : ` by ${account.name}, who runs PostgreSQL`;
    throw unavailable(
      `${path} cannot be written${by}: remove it and start again (${message})`,
      cause,
    );
  }
  const timer = setInterval(rotate, CHECK_MS).unref();
  return {
    fd,
    close: () => {
      clearInterval(timer);
      closeSync(fd);
    },
  };
}

/** The last lines, which say why the server did not start. */
export function lastLines(path: string, account: Account): string {
  try {
    const text = actAs(account, () => readRegularFile(path));
    return text.trim().split('\n').slice(-SHOWN_LINES).join(' | ');
  } catch {
    return '';
  }
}

/** Copies and truncates, since the running server keeps writing to the same file. */
function rotateIfLarge(path: string, fd: number): void {
  if (fstatSync(fd).size <= MAX_BYTES) return;
  rmSync(`${path}.1`, { force: true });
  copyTo(`${path}.1`, fd);
  ftruncateSync(fd, 0);
}

/** Copies from the open file, since its name may be a link to another file by now. */
function copyTo(path: string, fd: number): void {
  const copy = openSync(path, 'wx', 0o600);
  try {
    const buffer = Buffer.alloc(COPIED_BYTES);
    let position = 0;
    for (let read = 1; read > 0; position += read) {
      read = readSync(fd, buffer, 0, buffer.length, position);
      writeSync(copy, buffer, 0, read);
    }
  } finally {
    closeSync(copy);
  }
}

function openOwnFile(path: string): number {
  const fd = openRegularFile(path, APPEND, 0o600);
  if (fstatSync(fd).nlink === 1) return fd;
  closeSync(fd);
  throw new NotRegularError();
}
