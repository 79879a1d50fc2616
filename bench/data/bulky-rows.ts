import type { Database } from '../../src/db/connection/database.js';

const STEP = 20_000;

/** Bytes that do not compress, as sealed ones: 32 for each digest. */
const random = (digests: number) =>
  `(select string_agg(sha256(convert_to(n || '/' || i || random(), 'UTF8')), '') from generate_series(1, ${digests}) i)`;

const DEVICES = `
insert into devices (udid, serial_number, platform, os_version, enrollment_state, is_enrolled, enrollment_number)
select gen_random_uuid()::text, 'BENCH' || n, 'iOS', '26.1', 'enrolled', true, 1
from generate_series(1, 10000) n`;
const COMMANDS = `
insert into commands (uuid, device_id, request_type, status, payload, result, queued_at, sent_at, acknowledged_at, ended_at)
select gen_random_uuid(), 1 + n % 10000, 'DeviceInformation', 'Acknowledged', ${random(16)}, ${random(40)},
  now(), now(), now(), now()
from generate_series(1, ${STEP}) n`;
const APPLICATIONS = `
insert into installed_applications (device_id, bundle_identifier, name, version, bundle_size)
select 1 + n % 10000, 'com.example.application.' || random(), 'An application of ' || n, '1.2.' || n, n * 1000
from generate_series(1, ${STEP}) n`;

async function sizeOf({ pool }: Database): Promise<number> {
  const { rows } = await pool.query('select pg_database_size(current_database()) as size');
  return Number(rows[0].size);
}

/** Fills a migrated database up to this many gigabytes; returns its size in bytes. */
export async function fillToGigabytes(db: Database, gigabytes: number): Promise<number> {
  await db.pool.query(DEVICES);
  for (let size = 0; size < gigabytes * 1e9; size = await sizeOf(db)) {
    await Promise.all([db.pool.query(COMMANDS), db.pool.query(APPLICATIONS)]);
  }
  await db.pool.query('checkpoint');
  return await sizeOf(db);
}
