import { rmSync } from 'node:fs';
import pg from 'pg';
import { makeBenchDirectory } from '../load/bench-directory.js';
import { openServer } from '../load/database.js';

/** A PostgreSQL with room for several databases; BENCH_DATABASE_URL names another one. */
export interface BenchServer {
  directory: string;
  /** URL of the database that every server has. */
  url: string;
  /** Process id of the postmaster; 0 when it runs elsewhere. */
  pid: number;
  /** An empty database of its own. Returns its URL. */
  newDatabase(name: string): Promise<string>;
  stop(): Promise<void>;
}

export async function openBenchServer(): Promise<BenchServer> {
  const directory = makeBenchDirectory('muster-bench-push-');
  const given = process.env.BENCH_DATABASE_URL;
  const server = await openServer(directory, given);
  const stop = async () => {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  const pid = given === undefined ? await postmasterPid(server.url) : 0;
  return {
    directory,
    url: server.url,
    pid,
    newDatabase: (name) => createDatabase(server.url, name),
    stop,
  };
}

async function postmasterPid(connectionString: string): Promise<number> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const text = `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid`;
    return (await client.query<{ pid: number }>(text)).rows[0]?.pid ?? 0;
  } finally {
    await client.end();
  }
}

/** An empty database of its own on the server that `serverUrl` names. Returns its URL. */
async function createDatabase(serverUrl: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(`drop database if exists "${name}" with (force)`);
    await client.query(`create database "${name}"`);
  } finally {
    await client.end();
  }
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
