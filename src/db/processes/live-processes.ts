import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Knex } from 'knex';
import { recentProcesses, type ServerProcess } from './process-repository.js';

/** Three heartbeats. */
const RECENT_MS = 15_000;

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return pid === process.pid || isDefunct(pid); // its own pid: of a former run
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/**
 * A killed process keeps its pid until its parent has asked for its status, which in a container the
 * first process may never do. Told by /proc, where there is one: `7 (node) Z 1`.
 */
function isDefunct(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return /^ [ZX] /.test(status.slice(status.lastIndexOf(')') + 1));
  } catch {
    return false;
  }
}

/**
 * Server processes that run now, but this one: those heard of within 15 seconds, without those of
 * this host whose pid is gone.
 */
export async function liveProcesses(
  knex: Knex,
): Promise<Pick<ServerProcess, 'hostname' | 'pid'>[]> {
  const recent = await recentProcesses(knex, RECENT_MS);
  return recent.filter(({ hostname: host, pid }) => host !== hostname() || !isGone(pid));
}
