import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { connectDatabase } from '../../src/db/connection/database.js';
import { migrate } from '../../src/db/schema/migrate.js';
import { createLogger } from '../../src/logger.js';
import { makeBenchDirectory } from '../load/bench-directory.js';
import { openServer, trustFleet } from '../load/database.js';
import { createFleetSeed, type FleetSeed } from '../load/fleet.js';
import { fillFleet } from './fill.js';

export interface FilledDatabase {
  devices: number;
  /** Seed with the CA that the database trusts; undefined if its directory does not have the CA. */
  seed: FleetSeed | undefined;
}

interface Options {
  client: pg.Client;
  /** How many devices an empty database gets. */
  devices: number;
  /** Keeps the keys of the fleet beside its database. */
  directory: string;
  say: (line: string) => void;
}

/**
 * Runs it over the database in `keep`, which stays, or in a directory of its own. DATABASE_URL, or
 * BENCH_DATABASE_URL, names one elsewhere.
 */
export async function overDatabase(
  keep: string | undefined,
  run: (url: string, directory: string) => Promise<void>,
): Promise<void> {
  const kept = keep === undefined ? undefined : resolve(keep);
  if (kept !== undefined) mkdirSync(kept, { recursive: true });
  const directory = kept ?? makeBenchDirectory();
  const given = process.env.DATABASE_URL ?? process.env.BENCH_DATABASE_URL;
  const server = await openServer(directory, given);
  try {
    await run(server.url, directory);
  } finally {
    await server.stop();
    if (kept === undefined) rmSync(directory, { recursive: true, force: true });
  }
}

/** Migrates the database, and fills it unless it has devices. */
export async function fillDatabase(url: string, options: Options): Promise<FilledDatabase> {
  const { client, devices, directory, say } = options;
  const file = join(directory, 'fleet-seed.json');
  const count = async () => {
    const { rows } = await client.query<{ count: number }>('select count(*)::int from devices');
    return rows[0]?.count ?? 0;
  };
  await migrateDatabase(url);
  if ((await count()) === 0) {
    const seed = await createFleetSeed();
    writeFileSync(file, JSON.stringify(seed), { mode: 0o600 });
    await trustFleet(url, seed);
    const startedAt = performance.now();
    const filler = new pg.Client({ connectionString: url });
    await filler.connect();
    await fillFleet(filler, devices).finally(() => filler.end());
    say(`filled in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  }
  const seed = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as FleetSeed) : undefined;
  return { devices: await count(), seed };
}

async function migrateDatabase(connectionString: string): Promise<void> {
  const db = connectDatabase({ connectionString, applicationName: 'bench' });
  await migrate(db, { logger: createLogger('error') }).finally(() => db.close());
}
