import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { parseCertificate } from '../../src/crypto/x509/certificate.js';
import { connectDatabase, type Database } from '../../src/db/connection/database.js';
import { insertCertificate } from '../../src/db/pki/certificate-repository.js';
import { migrate } from '../../src/db/schema/migrate.js';
import { openEmbedded } from '../../src/embedded-postgres/open-embedded.js';
import { createLogger } from '../../src/logger.js';
import { certificateRecord } from '../../src/pki/certificates/certificate-record.js';
import { connectionUrl } from '../../test/helpers/connection-url.js';
import { makeBenchDirectory } from './bench-directory.js';
import type { FleetSeed } from './fleet.js';

export interface BenchDatabase {
  db: Database;
  url: string;
  /** Process id of the postmaster; undefined when it runs elsewhere. */
  pid: number | undefined;
  directory: string;
  stop(): Promise<void>;
}

/** The embedded PostgreSQL of a server that runs. */
export async function joinEmbedded(
  dataDir: string,
): Promise<Pick<BenchDatabase, 'db' | 'url' | 'stop'>> {
  const { connection, stop } = await openEmbedded({
    dataDir,
    logger: createLogger('error'),
    mode: 'use',
  });
  const url = connectionUrl(connection);
  const db = connectDatabase({ connectionString: url, applicationName: 'bench' });
  return { db, url, stop: () => db.close().then(stop) };
}

/** An embedded PostgreSQL below `directory`, or the one of BENCH_DATABASE_URL. */
export async function openServer(directory: string, given = process.env.BENCH_DATABASE_URL) {
  if (given !== undefined) return { url: given, stop: () => Promise.resolve() };
  const logger = createLogger('error');
  const dataDir = join(directory, 'database');
  const { connection, stop } = await openEmbedded({ dataDir, logger, mode: 'serve' });
  return { url: connectionUrl(connection), stop };
}

/** Migrates the database that `url` names, and has it trust the fleet's CA. */
export async function trustFleet(connectionString: string, seed: FleetSeed): Promise<void> {
  const db = connectDatabase({ connectionString, applicationName: 'bench' });
  try {
    await migrate(db, { logger: createLogger('error') });
    await trustCa(db, seed);
  } finally {
    await db.close();
  }
}

/** An empty, migrated database that trusts the benchmark's CA. */
export async function openBenchDatabase(seed: FleetSeed): Promise<BenchDatabase> {
  const directory = makeBenchDirectory();
  const server = await openServer(directory);
  const db = connectDatabase({ connectionString: server.url, applicationName: 'bench' });
  await migrate(db, { logger: createLogger('error') });
  await trustCa(db, seed);
  const stop = async () => {
    await db.close();
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  const pid = await postmasterPid(db.pool);
  return { db, url: server.url, pid, directory, stop };
}

const COMMAND = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict><key>Command</key><dict><key>RequestType</key><string>TYPE</string></dict>
<key>CommandUUID</key><string>UUID</string></dict></plist>`;

const FILL = `
insert into commands (uuid, device_id, request_type, payload)
select u.uuid, d.id, $1, convert_to(replace($2, 'UUID', u.uuid::text), 'UTF8')
from devices d cross join generate_series(1, $3::int) n
cross join lateral (select md5(d.udid || '/' || $4 || '/' || n)::uuid as uuid) u
where d.udid = any($5)
order by n, d.id`;

export interface FillOptions {
  udids: string[];
  phase: string;
  perDevice: number;
  requestType: string;
}

/** Empties all queues, fills them again with known CommandUUIDs and lets PostgreSQL catch up. */
export async function refillQueues(
  { db }: Pick<BenchDatabase, 'db'>,
  fill?: FillOptions,
): Promise<void> {
  await db.pool.query('truncate commands cascade');
  if (fill !== undefined) await fillWithoutLimit(db.pool, fill);
  await db.pool.query('vacuum (analyze) commands');
  await db.pool.query('vacuum (analyze) devices');
  await db.pool.query('vacuum (analyze) device_identities');
  await db.pool.query('checkpoint');
}

/** Queues commands with known CommandUUIDs. */
export async function fillCommands(
  client: Pick<pg.Client, 'query'>,
  { udids, phase, perDevice, requestType }: FillOptions,
): Promise<void> {
  const payload = COMMAND.replace('TYPE', requestType);
  await client.query(FILL, [requestType, payload, perDevice, phase, udids]);
}

/** Of a large fleet this takes longer than the server's own statements may. */
async function fillWithoutLimit(pool: pg.Pool, fill: FillOptions): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('set statement_timeout = 0');
    await fillCommands(client, fill);
  } finally {
    client.release(true);
  }
}

/** Removes every command of the database that `url` names, such as the inventory after an enrollment. */
export async function emptyQueues(connectionString: string): Promise<void> {
  const db = connectDatabase({ connectionString, applicationName: 'bench' });
  try {
    await db.knex('commands').delete();
  } finally {
    await db.close();
  }
}

/** How many commands stand at each status, so that no lost answer goes unseen. */
export async function countCommands({ db }: BenchDatabase): Promise<Record<string, number>> {
  const { rows } = await db.pool.query<{ status: string; count: number }>(
    'select status, count(*) from commands group by status',
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

/** Waits until the server has handled all stored reports. Returns the seconds it took. */
export async function catchUp({ db }: BenchDatabase): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const { rows } = await db.pool.query('select from commands where needs_handling limit 1');
    if (rows.length === 0) return (performance.now() - startedAt) / 1000;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Has a migrated database trust the benchmark's CA. */
async function trustCa({ knex }: Database, { caCertificate }: FleetSeed): Promise<void> {
  const ca = parseCertificate(Buffer.from(caCertificate, 'base64'));
  await insertCertificate(knex, certificateRecord(ca, 'mdm.cacert'));
  // The identities are of a CA made here, whose key the server never gets.
  await knex('scep_configurations').insert({ source_type: 'ExternalSCEP' });
}

/** Only for a server of our own on this machine: another machine's process id is of no use. */
export async function postmasterPid(client: Pick<pg.Client, 'query'>): Promise<number | undefined> {
  if (process.env.BENCH_DATABASE_URL !== undefined) return undefined;
  const { rows } = await client.query<{ pid: string }>(
    `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1) as pid`,
  );
  return Number(rows[0]?.pid);
}
