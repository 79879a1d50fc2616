import { mkdirSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import pg from 'pg';
import { connectDatabase } from '../../src/db/connection/database.js';
import { migrate } from '../../src/db/schema/migrate.js';
import { createLogger } from '../../src/logger.js';
import { makeBenchDirectory } from '../load/bench-directory.js';
import { openServer, postmasterPid } from '../load/database.js';
import { fillAdminData, type Sizes } from './admin-data.js';

export interface AdminDatabase {
  /** A plain connection, without the settings of the device path. */
  client: pg.Client;
  url: string;
  /** Process id of the postmaster; undefined if it runs elsewhere. */
  pid: number | undefined;
  directory: string;
  sizes: Sizes;
  fillSeconds: number;
  stop(): Promise<void>;
}

export interface AdminDatabaseOptions {
  /** 1 = 100,000 devices. */
  scale: number;
  /** The directory of a filled database, to be used again; else a temporary one. */
  keep: string | undefined;
}

/** A migrated database with a large fleet in it. */
export async function openAdminDatabase(options: AdminDatabaseOptions): Promise<AdminDatabase> {
  const { directory, remove } = openDirectory(options.keep);
  const server = await openServer(directory);
  const { url } = server;
  const client = new pg.Client({ connectionString: url });
  const stop = async () => {
    await client.end();
    await server.stop();
    remove();
  };
  try {
    await client.connect();
    await migrateAll(url);
    const startedAt = performance.now();
    const sizes = await fill(url, options.scale);
    const fillSeconds = (performance.now() - startedAt) / 1000;
    const pid = await postmasterPid(client);
    return { client, url, pid, directory, sizes, fillSeconds, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function openDirectory(keep: string | undefined): { directory: string; remove(): void } {
  if (keep !== undefined) {
    const directory = resolve(keep);
    mkdirSync(directory, { recursive: true });
    return { directory, remove: () => {} };
  }
  const directory = makeBenchDirectory('muster-bench-api-');
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

async function migrateAll(connectionString: string): Promise<void> {
  const db = connectDatabase({ connectionString, applicationName: 'bench' });
  await migrate(db, { logger: createLogger('error') });
  await db.close();
}

async function fill(connectionString: string, scale: number): Promise<Sizes> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return await fillAdminData(client, scale);
  } finally {
    await client.end();
  }
}
