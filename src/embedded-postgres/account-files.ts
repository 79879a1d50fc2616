import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
} from 'node:fs'; /** Whose powers are used; null = Muster's own. */
export type Identity = { uid: number; gid: number } | null;

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

/**
 * Does `work` with the powers of `identity` alone when Muster is root. Inside a directory that another
 * account can write to, any name may lead anywhere, at any moment: root therefore touches nothing
 * there, and a link yields its maker only what the maker could do anyway.
 *
 * `work` is synchronous, since the effective user belongs to the whole process, and starts no
 * process: its child would keep the way back to root.
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

/** Neither exists on Windows. The opening of a FIFO otherwise waits for its other end, for good. */
const CAREFUL = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
/** What `open` says of a link (on FreeBSD the second), and of a FIFO without reader or a socket. */
const REFUSALS = ['ELOOP', 'EMLINK', 'ENXIO'];

/** A link, a FIFO or the like is where a file belongs. */
export class NotRegularError extends Error {
  constructor(options?: ErrorOptions) {
    super('it is a link or no regular file', options);
  }
}

function openCarefully(path: string, flags: number, mode?: number): number {
  try {
    return openSync(path, flags | CAREFUL, mode);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? '';
    throw REFUSALS.includes(code) ? new NotRegularError({ cause }) : cause;
  }
}

/** For every file in a directory that another account can write to: it waits for nobody. */
export function openRegularFile(path: string, flags: number, mode?: number): number {
  const fd = openCarefully(path, flags, mode);
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
