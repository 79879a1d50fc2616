import { readFileSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/**
 * All others come first from here on. Not the lowest priority of all: on a machine that is never idle it would take for ever,
 * and a PostgreSQL of that kind would keep others waiting for the locks it holds. Systems and containers may refuse, which
 * costs speed alone.
 */
export function yieldToOthers(pid: number): void {
  const priority = constants.priority.PRIORITY_BELOW_NORMAL;
  attempt(() => setPriority(pid, priority));
  attempt(() => lowerSession(pid, priority));
}

/**
 * Linux can divide the cores between sessions first (sched_autogroup): a priority then counts among the processes of one
 * session only. Each process of PostgreSQL is a session of its own, so the session is lowered as well; see sched(7).
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
