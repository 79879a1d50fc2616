import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ENTRY, TYPESCRIPT } from './process.js';

export interface Child {
  pid: number;
  process: ChildProcess;
  /** All lines of standard output so far. */
  lines: string[];
  /** The first line (past or to come) that starts with `word`, without that word. */
  line(word: string): Promise<string>;
  /** Exit code or name of the signal. */
  ended: Promise<number | NodeJS.Signals>;
  errors(): string;
}

export interface ChildOptions {
  env?: Record<string, string>;
  cwd?: string;
  detached?: boolean;
}

const running = new Set<ChildProcess>();

/** Runs a TypeScript file in a process of its own. `killChildren` in `afterEach` ends what is left. */
export function startTypeScript(file: string, args: string[], options: ChildOptions = {}): Child {
  return start(['--require', TYPESCRIPT, file, ...args], options);
}

/** As `startTypeScript`, the built `muster ARGS`. */
export function startMuster(args: string[], options: ChildOptions = {}): Child {
  return start([ENTRY, ...args], options);
}

function start(args: string[], { env = {}, ...rest }: ChildOptions): Child {
  const child = spawn(process.execPath, args, {
    ...rest,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  return observe(child);
}

function observe(child: ChildProcess): Child {
  const lines: string[] = [];
  let errors = '';
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const check of waiting) check();
  };
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  if (child.stdout === null) throw new Error('no standard output');
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    wake();
  });
  let over = false;
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child);
      over = true;
      wake();
      resolve(code ?? signal ?? 1);
    });
  });
  const line = (word: string) =>
    new Promise<string>((resolve, reject) => {
      const check = () => {
        const found = lines.find((text) => text.startsWith(word));
        if (found === undefined && !over) return;
        waiting.delete(check);
        if (found === undefined) reject(new Error(`no line ${word}; standard error: ${errors}`));
        else resolve(found.slice(word.length).trim());
      };
      waiting.add(check);
      check();
    });
  return { pid: child.pid ?? 0, process: child, lines, line, ended, errors: () => errors };
}

export function killChildren(): void {
  for (const child of running) child.kill('SIGKILL');
}
