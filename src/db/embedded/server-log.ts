import {
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { actAs } from './act-as.js';
import type { Account } from './service-account.js';
import { startupError } from './startup-error.js';

const LARGEST_BYTES = 5 * 1024 * 1024;
const CHECK_MS = 60_000;
const SHOWN_LINES = 5;

export interface ServerLog {
  /** For the child's output. */
  fd: number;
  close(): void;
}

/** Copied and cut, not renamed: the running server goes on writing to the end of the same file. */
function rotateIfLarge(path: string, fd: number): void {
  if (fstatSync(fd).size <= LARGEST_BYTES) return;
  rmSync(`${path}.1`, { force: true });
  copyFileSync(path, `${path}.1`, constants.COPYFILE_EXCL);
  ftruncateSync(fd, 0);
}

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
/** O_NOFOLLOW does not exist on Windows. */
const APPEND = O_WRONLY | O_APPEND | O_CREAT | (O_NOFOLLOW ?? 0);

function openOwnFile(path: string): number {
  const fd = openSync(path, APPEND, 0o600);
  const stats = fstatSync(fd);
  if (stats.isFile() && stats.nlink === 1) return fd;
  closeSync(fd);
  throw new Error('it is a link or no file');
}

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
    throw startupError(
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

/** The last lines, to say why the server did not start. */
export function lastLines(path: string, account: Account): string {
  try {
    const text = actAs(account, () => readFileSync(path, 'utf8'));
    return text.trim().split('\n').slice(-SHOWN_LINES).join(' | ');
  } catch {
    return '';
  }
}
