import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** The user and group to act as; null = Muster's own. */
export type Identity = { uid: number; gid: number } | null;

/**
 * Runs `work` with the rights of `identity` alone when Muster is root. In a directory that another
 * account can write to, any name may become a link at any moment: root therefore touches nothing there,
 * and a link gives its maker only what the maker could do anyway.
 *
 * `work` is synchronous, since the effective user belongs to the whole process, and starts no process:
 * a child could become root again.
 */
export function actAs<T>(identity: Identity, work: () => T): T {
  if (identity === null || identity.uid === 0 || process.geteuid?.() !== 0) return work();
  const restore = become(identity);
  try {
    return work();
  } finally {
    restore();
  }
}

/** Neither exists on Windows. Without O_NONBLOCK, opening a FIFO waits for its other end forever. */
const SAFE_FLAGS = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
/** How `open` fails for a link (the second on FreeBSD), and for a FIFO without reader or a socket. */
const REFUSALS = ['ELOOP', 'EMLINK', 'ENXIO'];

/** The path is a link, a FIFO or the like instead of a file. */
export class NotRegularError extends Error {
  constructor(options?: ErrorOptions) {
    super('it is a link or no regular file', options);
  }
}

/** Opens a file in a directory that another account can write to; never follows a link or blocks. */
export function openRegularFile(path: string, flags: number, mode?: number): number {
  const fd = openWithoutFollowing(path, flags, mode);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw new NotRegularError();
}

export function readRegularFile(path: string): string {
  const fd = openRegularFile(path, constants.O_RDONLY);
  try {
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

function become({ uid, gid }: NonNullable<Identity>): () => void {
  const groups = process.getgroups?.() ?? [];
  const formerGroup = process.getegid?.() ?? 0;
  const restore = () => {
    process.seteuid?.(0);
    process.setegid?.(formerGroup);
    process.setgroups?.(groups);
  };
  try {
    process.setgroups?.([gid]);
    process.setegid?.(gid);
    process.seteuid?.(uid);
  } catch (error) {
    restore();
    throw error;
  }
  return restore;
}

function openWithoutFollowing(path: string, flags: number, mode?: number): number {
  try {
    return openSync(path, flags | SAFE_FLAGS, mode);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? '';
    throw REFUSALS.includes(code) ? new NotRegularError({ cause }) : cause;
  }
}
