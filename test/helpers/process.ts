import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { processesNaming } from '../../src/embedded-postgres/processes.js';
import { removeTemporaryDirectories, temporaryDirectory } from './temporary-directory.js';

export const ROOT = join(__dirname, '..', '..');

export const ENTRY = join(ROOT, 'dist', 'src', 'cli', 'muster.js');
/** For `node --require`, which then runs TypeScript. */
export const TYPESCRIPT = join(ROOT, 'scripts', 'typescript.cjs');
const WAIT_TIMEOUT_MS = 20_000;

/** The program as a user runs it, in a process group of its own. */
export interface Program {
  pid: number;
  /** Standard output and standard error so far, in the order in which they came. */
  output(): string;
  /** The first match in the output, past or to come; rejects when the program ends without one. */
  waitFor(pattern: RegExp, ms?: number): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  /** As Ctrl-C and a closing terminal do: to every process of the group. */
  killGroup(signal: NodeJS.Signals): void;
  /** Exit code or name of the signal. */
  ended: Promise<number | NodeJS.Signals>;
}

export interface RunOptions {
  dataDir?: string;
  env?: Record<string, string>;
  /** Through `npm run`, which looks for a `.env` in the project; else node alone in a directory without one. */
  npm?: boolean;
  /** Another `muster` than that of dist. */
  program?: string;
}

interface Watched extends Program {
  isOver(): boolean;
}

const programs = new Set<Watched>();
const homes = new Set<string>();

/** A directory of its own for DATA_DIR or HOME; `endPrograms` ends the databases in it too. */
export function newHome(): string {
  const home = temporaryDirectory();
  homes.add(home);
  return home;
}

function environment({ dataDir, env = {} }: RunOptions): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: newHome(),
    npm_config_update_notifier: 'false',
    PORT: '0',
    ...(dataDir === undefined ? {} : { DATA_DIR: dataDir }),
    ...env,
  };
}

function commandLine(args: string[], { npm, program }: RunOptions): [string, string[]] {
  if (program !== undefined) return [program, args];
  if (npm !== true) return [process.execPath, [ENTRY, ...args]];
  const [script = 'start', ...rest] = args;
  if (script === 'serve') return ['npm', ['start']];
  const own = ['simulate', 'migrate'].includes(script);
  return [
    'npm',
    ['run', '--silent', ...(own ? [script, '--', ...rest] : ['muster', '--', ...args])],
  ];
}

/** Runs `muster ARGS`. `endPrograms` in `afterEach` or `afterAll` ends what is left. */
export function run(args: string[], options: RunOptions = {}): Program {
  const [command, parameters] = commandLine(args, options);
  const env = environment(options);
  const child = spawn(command, parameters, {
    env,
    cwd: options.npm === true ? ROOT : env.HOME,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const program = observe(child);
  programs.add(program);
  return program;
}

function observe(child: ChildProcess): Watched {
  const pid = child.pid ?? 0;
  const heard = new Set<() => void>();
  let text = '';
  let over = false;
  const hear = (chunk: string) => {
    text += chunk;
    for (const listener of [...heard]) listener();
  };
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', hear);
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('close', (code, signal) => {
      over = true;
      hear('');
      resolve(code ?? signal ?? 1);
    });
  });
  const waitFor = (pattern: RegExp, ms = WAIT_TIMEOUT_MS) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const finish = (done: () => void) => {
        clearTimeout(timer);
        heard.delete(look);
        done();
      };
      const fail = (why: string) => reject(new Error(`${why} ${pattern} in:\n${text}`));
      const look = () => {
        const match = pattern.exec(text);
        if (match !== null) finish(() => resolve(match));
        else if (over) finish(() => fail('ended without'));
      };
      const timer = setTimeout(() => finish(() => fail(`after ${ms} ms no`)), ms);
      heard.add(look);
      look();
    });
  const output = () => text;
  const isOver = () => over;
  const killGroup = (signal: NodeJS.Signals) => {
    process.kill(-pid, signal);
  };
  return { pid, output, waitFor, kill: (name) => child.kill(name), killGroup, ended, isOver };
}

export interface Server extends Program {
  url: string;
  dataDir: string;
  /** Of node itself, also when npm is in front of it. */
  serverPid: number;
}

/** Runs `muster serve` and resolves when it serves. */
export async function serve(options: RunOptions = {}): Promise<Server> {
  const dataDir = options.dataDir ?? join(newHome(), 'data');
  const program = run(['serve'], { ...options, dataDir });
  const line = await program.waitFor(/"pid":(\d+).*"msg":"Muster is serving at (http[^"]+)"/);
  return { ...program, dataDir, serverPid: Number(line[1]), url: line[2] ?? '' };
}

/** Runs a command to its end. */
export async function runToEnd(args: string[], options: RunOptions = {}) {
  const program = run(args, options);
  const code = await program.ended;
  return { code, output: program.output() };
}

/**
 * A port that nobody listens on, for a server that comes back on it: below those that systems give to
 * connections by themselves, so that none of another test takes it meanwhile.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer().once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/** PostgreSQL's main process of a data directory, and Muster itself when it names it. */
export function processesOf(dataDir: string): number[] {
  return processesNaming(dataDir) ?? [];
}

/** Ends every program still running, and every database of theirs. */
export async function endPrograms(): Promise<void> {
  for (const program of programs) if (!program.isOver()) program.killGroup('SIGKILL');
  await Promise.all([...programs].map((program) => program.ended));
  programs.clear();
  for (const home of homes) for (const pid of processesOf(home)) process.kill(pid, 'SIGKILL');
}

/** For `afterAll`. */
export async function cleanUp(): Promise<void> {
  await endPrograms();
  homes.clear();
  removeTemporaryDirectories();
}
