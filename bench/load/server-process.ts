import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const READY_MS = 30_000;
const ROOT = join(__dirname, '..', '..');

export interface ServerProcess {
  pid: number;
  port: number;
  stop(): Promise<void>;
  /** As a crash does. */
  kill(): Promise<void>;
  /** The longest in ms that the event loop was held since the last question; needs `watchLoop`. */
  loopHeldMs(): Promise<number>;
  /** The same of the main thread's own time on a core, which a busy machine does not lengthen; Linux. */
  loopBusyMs(): Promise<number>;
}

export interface ServerProcessOptions {
  /** undefined: its embedded PostgreSQL, in `dataDir`. */
  databaseUrl?: string;
  dataDir: string;
  /** Settings of the server beside the benchmark's own. */
  settings?: Record<string, string>;
  watchLoop?: boolean;
  /** Arguments of node, such as --cpu-prof. */
  nodeArguments?: string[];
}

const RESOLUTION_MS = 1;

/** Loaded before the server; reports the delay of a 1 ms timer. */
const LOOP_WATCH = `
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
const delay = monitorEventLoopDelay({ resolution: ${RESOLUTION_MS} });
delay.enable();
// Linux: the time that the main thread was on a core, which other processes do not lengthen.
const onCore = () => Number(readFileSync('/proc/self/task/' + process.pid + '/schedstat', 'utf8').split(' ')[0]);
let busy = 0;
if (process.platform === 'linux') {
  let last = onCore();
  setInterval(() => {
    const now = onCore();
    busy = Math.max(busy, now - last);
    last = now;
  }, ${RESOLUTION_MS}).unref();
}
process.on('message', () => {
  process.send([delay.max / 1e6, busy / 1e6]);
  delay.reset();
  busy = 0;
});
process.channel.unref();`;

/** Arguments that `npm start` passes. */
const AS_STARTED = ['--enable-source-maps', '--v8-pool-size=1'];

/** The built server as `npm start` runs it, quiet, on a free port. */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const port = await freePort();
  const child = launch(options, port);
  await untilReady(child, port);
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  const ask = async (): Promise<number[]> => {
    const answer = once(child, 'message');
    child.send('');
    return (await answer)[0] as number[];
  };
  const loopHeldMs = async () => ((await ask())[0] ?? 0) - RESOLUTION_MS;
  const loopBusyMs = async () => (await ask())[1] ?? 0;
  return {
    pid: child.pid ?? 0,
    port,
    loopHeldMs,
    loopBusyMs,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

function launch(options: ServerProcessOptions, port: number): ChildProcess {
  const { databaseUrl, dataDir, settings = {}, watchLoop = false, nodeArguments = [] } = options;
  const muster = join(ROOT, 'dist', 'src', 'cli', 'muster.js');
  const watch = `data:text/javascript,${encodeURIComponent(LOOP_WATCH)}`;
  const args = [...(watchLoop ? ['--import', watch] : []), ...nodeArguments];
  return spawn(process.execPath, [...AS_STARTED, ...args, muster, 'serve'], {
    cwd: dataDir,
    stdio: ['ignore', 'ignore', 'inherit', ...(watchLoop ? ['ipc' as const] : [])],
    env: {
      ...process.env,
      PORT: String(port),
      HOST: '127.0.0.1',
      DATABASE_URL: databaseUrl,
      DATA_DIR: dataDir,
      LOG_LEVEL: 'error',
      // The lab of whoever runs the benchmark is not that of its server.
      LAB: 'off',
      ...settings,
    },
  });
}

async function untilReady(child: ChildProcess, port: number): Promise<void> {
  const end = Date.now() + READY_MS;
  while (Date.now() < end && child.exitCode === null) {
    const reply = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (reply?.ok === true) return;
    await sleep(100);
  }
  child.kill('SIGKILL');
  throw new Error('the server did not become ready');
}
