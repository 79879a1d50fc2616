import { readFileSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/**
 * Lowers the priority of the process below others. Not to the lowest: on a busy machine it would never finish,
 * and a PostgreSQL backend would hold its locks for as long. Operating systems and containers may refuse, which only
 * affects speed.
 */
export function yieldToOthers(pid: number): void {
  const priority = constants.priority.PRIORITY_BELOW_NORMAL;
  attempt(() => setPriority(pid, priority));
  attempt(() => lowerSession(pid, priority));
}

/**
 * Linux can divide the cores between sessions first (sched_autogroup): a priority then counts among the processes of one
 * session only. Each process of PostgreSQL is a separate session, so the session is lowered as well; see sched(7).
 */
function lowerSession(pid: number, priority: number): void {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const [, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (session === String(pid)) writeFileSync(`/proc/${pid}/autogroup`, String(priority));
}

function attempt(change: () => void): void {
  try {
    change();
  } catch {
    // As before.
  }
}
