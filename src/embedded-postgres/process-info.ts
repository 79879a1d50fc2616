import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';

/** Tells a process from a later one with the same number; null where the system does not say. */
export interface ProcessIdentity {
  pid: number;
  startedAt: string | null;
}

const ON_LINUX = process.platform === 'linux';
const ON_WINDOWS = process.platform === 'win32';

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return undefined;
  }
}

/** proc(5), /proc/pid/stat: what follows the command, which may itself hold spaces and brackets. */
function statFields(pid: number): string[] {
  const stat = readProc(`${pid}/stat`) ?? '';
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function psFields(pid: number, format: string): string {
  const result = spawnSync('ps', ['-o', `${format}=`, '-p', String(pid)], { encoding: 'utf8' });
  return (result.stdout ?? '').trim();
}

function startTime(pid: number): string | null {
  if (ON_WINDOWS) return null;
  if (!ON_LINUX) return psFields(pid, 'lstart') || null;
  const ticks = statFields(pid)[19];
  return ticks === undefined ? null : `${readProc('sys/kernel/random/boot_id')?.trim()}/${ticks}`;
}

/** A zombie has ended: it only waits for its parent to notice. */
export function isZombie(pid: number): boolean {
  if (ON_WINDOWS) return false;
  const state = ON_LINUX ? statFields(pid)[0] : psFields(pid, 'state');
  return state?.startsWith('Z') ?? false;
}

export function identify(pid: number): ProcessIdentity {
  return { pid, startedAt: startTime(pid) };
}

export function isRunning(identity: ProcessIdentity): boolean {
  const { pid, startedAt } = identity;
  if (!isAlive(pid) || isZombie(pid)) return false;
  if (startedAt === null) return true;
  return startTime(pid) === startedAt;
}

interface ListedProcess {
  pid: number;
  command: string;
  uid(): number | undefined;
}

function linuxProcesses(): ListedProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({
      pid: Number(name),
      command: readProc(`${name}/cmdline`) ?? '',
      uid: () => statSync(`/proc/${name}`, { throwIfNoEntry: false })?.uid,
    }));
}

function otherProcesses(): ListedProcess[] {
  const result = spawnSync('ps', ['-axo', 'pid=,uid=,command='], { encoding: 'utf8' });
  return (result.stdout ?? '').split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(-?\d+) (.*)$/.exec(line);
    if (match === null) return [];
    const [, pid, uid, command = ''] = match;
    return [{ pid: Number(pid), command, uid: () => Number(uid) >>> 0 }];
  });
}

/**
 * Processes (not zombies) whose command line or title holds `marker`, of `owner` if given; undefined
 * where the system offers no way to find out.
 */
export function processesNaming(marker: string, owner?: number): number[] | undefined {
  if (ON_WINDOWS) return undefined;
  const listed = ON_LINUX ? linuxProcesses() : otherProcesses();
  return listed
    .filter(({ pid, command }) => pid !== process.pid && command.includes(marker))
    .filter(({ uid }) => owner === undefined || uid() === owner)
    .map(({ pid }) => pid);
}
