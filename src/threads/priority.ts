import { availableParallelism, constants, loadavg, setPriority } from 'node:os';

const { PRIORITY_LOW, PRIORITY_BELOW_NORMAL } = constants.priority;

/**
 * All others come first from here on. On a machine that is never idle the lowest priority would take for ever, and a
 * PostgreSQL of that kind would keep others waiting for the locks it holds: there a process gets a higher one. Systems and
 * containers may refuse, which costs speed alone.
 */
export function yieldToOthers(pid: number): void {
  const [load = 0] = loadavg();
  const isBusy = load >= availableParallelism();
  try {
    setPriority(pid, isBusy ? PRIORITY_BELOW_NORMAL : PRIORITY_LOW);
  } catch {
    // As before.
  }
}
