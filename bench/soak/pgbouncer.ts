import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { makeBenchDirectory } from '../load/bench-directory.js';
import { freePort } from '../load/server-process.js';

export interface PgBouncer {
  /** The same database behind the pooler, as a server's DATABASE_URL names it. */
  urlOf(databaseUrl: string): string;
  stop(): Promise<void>;
}

/** Connections to each database; fewer than the processes of a scenario would open. */
const POOL_SIZE = 15;
const READY_MS = 10_000;
const NOBODY = 65_534;

/**
 * Debian's PgBouncer in transaction mode before the server of `serverUrl`, which may listen on a
 * Unix socket. Rejects when the command `pgbouncer` is missing.
 */
export async function startPgBouncer(serverUrl: string): Promise<PgBouncer> {
  const directory = makeBenchDirectory('muster-pgbouncer-');
  chmodSync(directory, 0o755);
  const port = await freePort();
  const file = join(directory, 'pgbouncer.ini');
  writeFileSync(file, configuration(new URL(serverUrl), port));
  const child = spawn('pgbouncer', [file], {
    ...accountFor(serverUrl),
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
  });
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    rmSync(directory, { recursive: true, force: true });
  };
  const urlOf = (databaseUrl: string) => {
    const { pathname } = new URL(databaseUrl);
    return `postgresql://soak@127.0.0.1:${port}${pathname}?pgbouncer=true`;
  };
  const failed = once(child, 'error').then(([error]) => {
    throw new Error(
      `pgbouncer did not start (Debian: apt-get install pgbouncer): ${error.message}`,
    );
  });
  try {
    await Promise.race([untilReady(urlOf(serverUrl)), failed]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { urlOf, stop };
}

/** PgBouncer refuses to run as root; the embedded server's socket is its account's alone. */
function accountFor(serverUrl: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const directory = new URL(serverUrl).searchParams.get('host');
  const { uid, gid } = directory === null ? { uid: 0, gid: 0 } : statSync(directory);
  return uid === 0 ? { uid: NOBODY, gid: NOBODY } : { uid, gid };
}

/** Every client becomes the user of the server's URL: it listens on the loopback alone. */
function configuration(server: URL, port: number): string {
  const host = server.searchParams.get('host') ?? server.hostname;
  const serverPort = server.searchParams.get('port') ?? (server.port || '5432');
  const user = decodeURIComponent(server.username);
  const password = decodeURIComponent(server.password).replaceAll("'", "''");
  return `
[databases]
* = host=${host} port=${serverPort} user=${user} password='${password}'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${POOL_SIZE}
max_client_conn = 1000
ignore_startup_parameters = extra_float_digits,options
log_connections = 0
log_disconnections = 0
verbose = 0
`;
}

async function untilReady(connectionString: string): Promise<void> {
  const end = Date.now() + READY_MS;
  for (;;) {
    const client = new pg.Client({ connectionString });
    try {
      await client.connect();
      await client.query('select 1');
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(100);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}
