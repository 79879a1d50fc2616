import type { Database } from '../connection/database.js';

export interface DatabaseFacts {
  /** As server_version_num: 180004 is 18.4. */
  version: number;
  versionText: string;
  bytes: number;
  fsync: boolean;
  fullPageWrites: boolean;
  /** on, remote_apply, remote_write, local or off. */
  synchronousCommit: string;
  autovacuum: boolean;
  /** off, pglz, lz4, zstd; on is pglz. */
  walCompression: string;
  /** Connections for roles that are no superusers. */
  maxConnections: number;
  /** Connections of all clients now. */
  usedConnections: number;
  isStandby: boolean;
}

const FACTS = `
select current_setting('server_version_num')::integer as version,
  split_part(current_setting('server_version'), ' ', 1) as "versionText",
  pg_database_size(current_database()) as bytes,
  current_setting('fsync')::boolean as fsync,
  current_setting('full_page_writes')::boolean as "fullPageWrites",
  current_setting('synchronous_commit') as "synchronousCommit",
  current_setting('autovacuum')::boolean as autovacuum,
  current_setting('wal_compression') as "walCompression",
  current_setting('max_connections')::integer
    - current_setting('superuser_reserved_connections')::integer
    - coalesce(current_setting('reserved_connections', true)::integer, 0) as "maxConnections",
  (select count(*)::integer from pg_stat_activity where backend_type = 'client backend')
    as "usedConnections",
  pg_is_in_recovery() as "isStandby"`;

/** What the server says of itself. Rejects with the driver's error. */
export async function readDatabaseFacts({ knex }: Pick<Database, 'knex'>): Promise<DatabaseFacts> {
  const { rows } = await knex.raw<{ rows: DatabaseFacts[] }>(FACTS);
  const [facts] = rows;
  if (facts === undefined) throw new Error('the database returned no row');
  return facts;
}

/** The database's clock. */
export async function databaseTime({ background }: Pick<Database, 'background'>): Promise<Date> {
  const { rows } = await background.query<{ now: Date }>('select clock_timestamp() as now');
  const [row] = rows;
  if (row === undefined) throw new Error('the database returned no row');
  return row.now;
}

/** Milliseconds of a round trip: the median of `times` on one connection. */
export async function measureRoundTrip(
  { background }: Pick<Database, 'background'>,
  times: number,
): Promise<number> {
  const client = await background.connect();
  try {
    const measured: number[] = [];
    for (let count = 0; count < times; count += 1) {
      const started = performance.now();
      await client.query('select 1');
      measured.push(performance.now() - started);
    }
    measured.sort((one, other) => one - other);
    return measured[Math.floor(times / 2)] ?? 0;
  } finally {
    client.release();
  }
}

export interface TableDeadRows {
  table: string;
  live: number;
  dead: number;
  lastVacuum: Date | null;
}

const DEAD_ROWS = `
select relname as table, n_live_tup as live, n_dead_tup as dead,
  greatest(last_vacuum, last_autovacuum) as "lastVacuum"
from pg_stat_user_tables
where n_dead_tup > ?
order by n_dead_tup desc, relname
limit 20`;

/** Tables with more dead rows than `least`, those with the most first. */
export async function listDeadRows(
  { knex }: Pick<Database, 'knex'>,
  least: number,
): Promise<TableDeadRows[]> {
  const { rows } = await knex.raw<{ rows: TableDeadRows[] }>(DEAD_ROWS, [least]);
  return rows;
}

export interface OldTransaction {
  pid: number;
  application: string;
  state: string;
  seconds: number;
}

// A monitoring role sees the others' processes, but not their queries; the query is not shown anyway.
const OLD_TRANSACTIONS = `
select pid, application_name as application, state,
  extract(epoch from now() - xact_start)::integer as seconds
from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
  and xact_start < now() - ? * interval '1 second'
order by xact_start
limit 5`;

/** Transactions that have been open for so long: dead rows cannot be removed meanwhile. */
export async function listOldTransactions(
  { knex }: Pick<Database, 'knex'>,
  seconds: number,
): Promise<OldTransaction[]> {
  const { rows } = await knex.raw<{ rows: OldTransaction[] }>(OLD_TRANSACTIONS, [seconds]);
  return rows;
}
