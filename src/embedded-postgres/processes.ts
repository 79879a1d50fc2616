import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { actAs } from './account-files.js';
import type { Account } from './service-account.js';

/** Distinguishes a process from a later one with the same pid; null: the system does not say. */
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

/** A zombie has ended: its parent has not read its exit status yet. */
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

/**
 * Processes (no zombies) whose command line or title contains `marker`, of `owner` if given; undefined
 * on Windows, which offers no way to find out.
 */
export function processesNaming(marker: string, owner?: number): number[] | undefined {
  if (ON_WINDOWS) return undefined;
  const listed = ON_LINUX ? linuxProcesses() : otherProcesses();
  return listed
    .filter(({ pid, command }) => pid !== process.pid && command.includes(marker))
    .filter(({ uid }) => owner === undefined || uid() === owner)
    .map(({ pid }) => pid);
}

/** Fast shutdown first; immediate shutdown (recovery on the next start) if that takes too long. */
const STOP_SIGNALS: [NodeJS.Signals, number][] = [
  ['SIGINT', 4_000],
  ['SIGQUIT', 2_000],
  ['SIGKILL', 2_000],
];
const POLL_MS = 20;

/** With the rights of `account`: a pid read from a file may be that of any process. */
export function signal(pid: number, name: NodeJS.Signals, account: Account): void {
  try {
    actAs(account, () => process.kill(pid, name));
  } catch {
    // It has ended already.
  }
}

/** True as soon as `condition` holds, false when it does not within `limit` milliseconds. */
export async function waitUntil(condition: () => boolean, limit: number): Promise<boolean> {
  const end = Date.now() + limit;
  while (!condition()) {
    if (Date.now() > end) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Sends stronger and stronger signals until `gone` returns true. */
export async function stopProcess(
  pid: number,
  account: Account,
  gone: () => boolean,
): Promise<boolean> {
  for (const [name, limit] of STOP_SIGNALS) {
    signal(pid, name, account);
    if (await waitUntil(gone, limit)) return true;
  }
  return gone();
}

/** proc(5), /proc/pid/stat: the fields after the command, which may contain spaces and brackets. */
function statFields(pid: number): string[] {
  const stat = readProc(`${pid}/stat`) ?? '';
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return undefined;
  }
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
