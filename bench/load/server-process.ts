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
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
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

/** The built server as `npm start` runs it, quiet, on a free port. */
export async function startServerProcess(options: {
  databaseUrl: string;
  dataDir: string;
}): Promise<ServerProcess> {
  const port = await freePort();
  const program = join(ROOT, 'dist', 'src', 'cli', 'muster.js');
  const child = spawn(process.execPath, ['--enable-source-maps', program, 'serve'], {
    cwd: options.dataDir,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...process.env,
      PORT: String(port),
      HOST: '127.0.0.1',
      DATABASE_URL: options.databaseUrl,
      DATA_DIR: options.dataDir,
      LOG_LEVEL: 'error',
    },
  });
  await untilReady(child, port);
  const stop = async () => {
    if (child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  };
  return { pid: child.pid ?? 0, port, stop };
}
