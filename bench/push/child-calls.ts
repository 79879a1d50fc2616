import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** For `node --require`, which then runs TypeScript. */
const TYPESCRIPT = join(__dirname, '..', '..', 'scripts', 'typescript.cjs');

/** What a child does when asked; arguments and results are JSON. */
type CallTable = Record<string, (argument: never) => unknown>;

type ArgumentOf<F> = F extends (argument: infer A) => unknown ? A : never;
type ResultOf<F> = F extends (argument: never) => infer R ? Awaited<R> : never;

interface Call {
  id: number;
  method: string;
  argument: unknown;
}

interface Reply {
  id: number;
  result?: unknown;
  error?: string;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export interface CallableChild<Table> {
  pid: number;
  call<Name extends keyof Table & string>(
    name: Name,
    argument: ArgumentOf<Table[Name]>,
  ): Promise<ResultOf<Table[Name]>>;
  kill(signal: NodeJS.Signals): Promise<void>;
}

function isOver(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function kill(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (isOver(child)) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

/** Runs a TypeScript file that calls `answerCalls`; resolves when it is ready to be asked. */
export async function startCallableChild<Table extends object>(
  file: string,
  args: string[] = [],
): Promise<CallableChild<Table>> {
  const child = spawn(process.execPath, ['--require', TYPESCRIPT, file, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
  const waiting = new Map<number, Waiting>();
  let calls = 0;
  child.on('message', ({ id, result, error }: Reply) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) call?.resolve(result);
    else call?.reject(new Error(error));
  });
  child.once('exit', () => {
    for (const call of waiting.values()) call.reject(new Error(`${file} has ended`));
  });
  const ask = (method: string, argument: unknown) =>
    new Promise<unknown>((resolve, reject) => {
      calls += 1;
      waiting.set(calls, { resolve, reject });
      child.send({ id: calls, method, argument } satisfies Call);
    });
  await ask('ready', null);
  return {
    pid: child.pid ?? 0,
    call: (name, argument) => ask(name, argument) as Promise<never>,
    kill: (signal) => kill(child, signal),
  };
}

/** In the child: answers the parent's calls, and ends when the parent has ended. */
export function answerCalls<Table extends object>(calls: Table): void {
  const table = calls as CallTable;
  const answer = async ({ method, argument }: Call): Promise<unknown> => {
    if (method === 'ready') return null;
    return await table[method]?.(argument as never);
  };
  process.on('message', (call: Call) => {
    answer(call).then(
      (result) => process.send?.({ id: call.id, result }),
      (error: unknown) => process.send?.({ id: call.id, error: String(error) }),
    );
  });
  process.on('disconnect', () => process.exit(0));
}
