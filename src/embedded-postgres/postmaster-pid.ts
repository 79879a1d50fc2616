import { join } from 'node:path';
import { unavailable } from '../errors.js';
import { actAs, type Identity, NotRegularError, readRegularFile } from './account-files.js';

/** What a running PostgreSQL writes to `postmaster.pid` (src/include/utils/pidfile.h). */
export interface Postmaster {
  pid: number;
  port: number;
  /** Directory of the unix socket, or the loopback address where there is none. */
  host: string;
  ready: boolean;
}

/**
 * Undefined when there is no file, or it is still being written. PostgreSQL's account can write anything
 * to it: use its content with the rights of that account only.
 */
export function readPostmaster(
  dataDirectory: string,
  account: Identity = null,
): Postmaster | undefined {
  const path = join(dataDirectory, 'postmaster.pid');
  let lines: string[];
  try {
    lines = actAs(account, () => readRegularFile(path)).split('\n');
  } catch (cause) {
    if (!(cause instanceof NotRegularError)) return undefined;
    throw unavailable(
      `${path} cannot be read: remove it and start again (${cause.message})`,
      cause,
    );
  }
  const [pid, , , port, socketDirectory, address, , status] = lines.map((line) => line.trim());
  if (!/^\d+$/.test(pid ?? '')) return undefined;
  return {
    pid: Number(pid),
    port: Number(port),
    host: socketDirectory || address || '127.0.0.1',
    ready: status === 'ready',
  };
}
