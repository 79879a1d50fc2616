import { readdirSync, readFileSync } from 'node:fs';

const CLOCK_TICKS = 100;
const MB = 1024;

export interface Usage {
  /** CPU seconds since the process began. */
  cpuSeconds: number;
  /** The same of its children that have ended. */
  endedSeconds: number;
  rssMegabytes: number;
  /** The most it ever had. */
  peakMegabytes: number;
}

/** Usage of one process, from /proc; undefined if the process does not exist. */
export function usageOf(pid: number): Usage | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return {
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS,
      endedSeconds: (Number(fields[13]) + Number(fields[14])) / CLOCK_TICKS,
      rssMegabytes: field(status, 'VmRSS') / MB,
      peakMegabytes: field(status, 'VmHWM') / MB,
    };
  } catch {
    return undefined;
  }
}

/**
 * A server of many processes, such as PostgreSQL: CPU of all its processes, and memory as PSS, which
 * counts the shared buffers once and not once for each process.
 */
export function usageOfFamily(pid: number): Pick<Usage, 'cpuSeconds' | 'rssMegabytes'> | undefined {
  const parent = usageOf(pid);
  if (parent === undefined) return undefined;
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const family = children.filter((child) => parentOf(child) === pid);
  return {
    cpuSeconds: family.reduce(
      (sum, child) => sum + (usageOf(Number(child))?.cpuSeconds ?? 0),
      parent.cpuSeconds + parent.endedSeconds,
    ),
    rssMegabytes: family.reduce((sum, child) => sum + sharedFairly(child), sharedFairly(pid)),
  };
}

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
}

function parentOf(pid: string): number | undefined {
  try {
    return field(readFileSync(`/proc/${pid}/status`, 'latin1'), 'PPid');
  } catch {
    return undefined;
  }
}

function sharedFairly(pid: number | string): number {
  try {
    return field(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'), 'Pss') / MB;
  } catch {
    return 0;
  }
}
