import pg from 'pg';
import type { TestDatabase } from './database.js';

async function administer(work: (client: pg.Client, name: string) => Promise<void>, url: URL) {
  const name = url.pathname.slice(1);
  url.pathname = '/postgres';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    await work(client, name);
  } finally {
    await client.end();
  }
}

const TERMINATE = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = $1 and application_name = coalesce($2, application_name)`;

/** Breaks the connections to this one database, as a restart of the server does: all, or one's own. */
export async function breakConnections(
  { connectionString }: TestDatabase,
  applicationName?: string,
): Promise<void> {
  await administer(async (client, name) => {
    await client.query(TERMINATE, [name, applicationName]);
  }, new URL(connectionString));
}

async function allowConnections(connectionString: string, isAllowed: boolean): Promise<void> {
  await administer(async (client, name) => {
    await client.query(`alter database ${name} with allow_connections ${isAllowed}`);
  }, new URL(connectionString));
}

/** This one database is away while `work` runs: no connection is left, and none can be made. */
export async function duringOutage<T>(test: TestDatabase, work: () => Promise<T>): Promise<T> {
  await allowConnections(test.connectionString, false);
  try {
    await breakConnections(test);
    return await work();
  } finally {
    await allowConnections(test.connectionString, true);
  }
}
