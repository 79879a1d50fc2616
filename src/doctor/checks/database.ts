import { connectionsOfWorkers } from '../../cluster/connection-shares.js';
import {
  type DatabaseFacts,
  listDeadRows,
  listOldTransactions,
  measureRoundTrip,
  type OldTransaction,
  readDatabaseFacts,
  type TableDeadRows,
} from '../../db/doctor/database-facts.js';
import type { Check } from '../check.js';
import { error, type Found, ok, warning } from '../finding.js';

/** The last day of each major version (postgresql.org/support/versioning). */
const END_OF_LIFE: Record<number, string> = {
  14: '2026-11-12',
  15: '2027-11-11',
  16: '2028-11-09',
  17: '2029-11-08',
  18: '2030-11-14',
};

const ROUND_TRIPS = 9;
const SLOW_MS = 10;
/** 10 for devices, 10 for the API, 8 for its lists, 6 for background work, 1 for notifications. */
const CONNECTIONS_OF_PROCESS = 35;
const MIB = 1024 * 1024;

/** Version, speed and size. */
export const databaseCheck: Check = {
  name: 'database',
  needs: 'database',
  run: async ({ db, now }) => {
    const facts = await readDatabaseFacts(db);
    const ms = await measureRoundTrip(db, ROUND_TRIPS);
    const faults = [...versionFaults(facts, now()), ...speedFaults(ms), ...standbyFaults(facts)];
    if (faults.length > 0) return faults;
    const size = `${Math.ceil(facts.bytes / MIB)} MiB`;
    const what = `PostgreSQL ${facts.versionText} answers in ${ms.toFixed(1)} ms and holds ${size}.`;
    return [ok('database', what)];
  },
};

/** Settings with which data is lost, writes get slow, or connections run out. */
export const databaseSettingsCheck: Check = {
  name: 'database_settings',
  needs: 'database',
  run: async ({ db, config }) => {
    const facts = await readDatabaseFacts(db);
    const faults = [
      ...safetyFaults(facts),
      ...logFaults(facts),
      ...connectionFaults(facts, config.workers),
    ];
    if (faults.length > 0) return faults;
    const what = `The settings of PostgreSQL keep what was stored; ${facts.usedConnections} of ${facts.maxConnections} connections are in use.`;
    return [ok('database_settings', what)];
  },
};

/** Rows that were deleted or replaced and still take space. */
export const bloatCheck: Check = {
  name: 'database_bloat',
  needs: 'database',
  run: async ({ db, now }) => {
    const tables = await listDeadRows(db, LEAST_DEAD_ROWS);
    const old = await listOldTransactions(db, OLD_TRANSACTION_SECONDS);
    const bloated = tables.filter(isBloated);
    const faults = [...bloated.map((table) => bloatFinding(table, now())), ...old.map(oldFinding)];
    if (faults.length > 0) return faults;
    return [ok('database_bloat', 'No table has more than half as many dead rows as live ones.')];
  },
};

function versionFaults({ version, versionText }: DatabaseFacts, now: Date): Found[] {
  const major = Math.floor(version / 10_000);
  const end = END_OF_LIFE[major] ?? (major < 14 ? '2025-11-13' : undefined);
  if (end === undefined || now.toISOString().slice(0, 10) <= end) return [];
  const what = `PostgreSQL ${versionText} gets no corrections any more, since ${end}.`;
  const why = 'Faults that lose data or let others in are no longer corrected in it.';
  const cure =
    'Upgrade PostgreSQL to 17 or 18, with pg_upgrade or a dump (docs/operations.md, "Back up").';
  return [warning('database_version_old', { what, why, cure })];
}

function speedFaults(ms: number): Found[] {
  if (ms <= SLOW_MS) return [];
  const what = `A round trip to the database takes ${ms.toFixed(0)} ms (median of ${ROUND_TRIPS}).`;
  const why =
    'Each poll of a device is one round trip: a slow one limits how many devices are answered.';
  const cure = 'Run PostgreSQL near this process, in the same network, and see what keeps it busy.';
  return [warning('database_slow', { what, why, cure })];
}

function standbyFaults({ isStandby }: DatabaseFacts): Found[] {
  if (!isStandby) return [];
  const what = 'The database is a standby: it refuses every write.';
  const why = 'No report of a device and no command can be stored.';
  const cure = 'Point DATABASE_URL to the primary, or promote this one: select pg_promote()';
  return [error('database_read_only', { what, why, cure })];
}

function safetyFaults(facts: DatabaseFacts): Found[] {
  const faults: Found[] = [];
  for (const [name, isOn] of [
    ['fsync', facts.fsync],
    ['full_page_writes', facts.fullPageWrites],
  ] as const) {
    if (isOn) continue;
    const what = `PostgreSQL runs with ${name} = off.`;
    const why = 'A crash of the machine can destroy the whole database.';
    const cure = `alter system set ${name} = on; select pg_reload_conf();`;
    faults.push(error(`database_${name}_off`, { what, why, cure }));
  }
  if (facts.synchronousCommit === 'off') {
    const what = 'PostgreSQL runs with synchronous_commit = off.';
    const why =
      'A crash loses the last moments: commands and reports that were acknowledged are gone, and devices do not send them again.';
    const cure =
      'alter database CURRENT_DATABASE set synchronous_commit = on; then restart Muster.';
    faults.push(warning('database_synchronous_commit_off', { what, why, cure }));
  }
  if (!facts.autovacuum) {
    const what = 'PostgreSQL runs with autovacuum = off.';
    const why = 'Dead rows are never removed: the database grows and slows down without end.';
    const cure = 'alter system set autovacuum = on; select pg_reload_conf();';
    faults.push(error('database_autovacuum_off', { what, why, cure }));
  }
  return faults;
}

function logFaults({ walCompression }: DatabaseFacts): Found[] {
  if (!['on', 'pglz'].includes(walCompression)) return [];
  const what = `PostgreSQL runs with wal_compression = ${walCompression}.`;
  const why =
    'The method pglz is slow: after each checkpoint, batches of commands and enrollments wait for it.';
  const cure =
    'alter system set wal_compression = lz4; (off where this PostgreSQL has no lz4) select pg_reload_conf();';
  return [warning('database_wal_compression_slow', { what, why, cure })];
}

function connectionFaults({ maxConnections }: DatabaseFacts, workers: number): Found[] {
  const isOne = workers === 1;
  const needed = isOne ? CONNECTIONS_OF_PROCESS : connectionsOfWorkers(workers);
  if (maxConnections >= needed) return [];
  const what = `PostgreSQL allows ${maxConnections} connections; this server may open ${needed}${isOne ? '' : ` with WORKERS=${workers}`}.`;
  const why = 'Under load, devices and admins get 503 when no connection is left.';
  const cure = `alter system set max_connections = ${needed + 15}; then restart PostgreSQL. Count as many again for each further process.`;
  return [warning('database_connections_few', { what, why, cure })];
}

/** Below this, dead rows cost nothing that anybody would notice. */
const LEAST_DEAD_ROWS = 10_000;
/** PostgreSQL itself removes them from a fifth on. */
const DEAD_OF_LIVE = 0.5;
const OLD_TRANSACTION_SECONDS = 3600;

function isBloated({ live, dead }: TableDeadRows): boolean {
  return dead > LEAST_DEAD_ROWS && dead > DEAD_OF_LIVE * live;
}

function bloatFinding({ table, live, dead, lastVacuum }: TableDeadRows, now: Date): Found {
  const last =
    lastVacuum === null
      ? 'it was never vacuumed'
      : `last vacuumed ${Math.round((now.getTime() - lastVacuum.getTime()) / 60_000)} minutes ago`;
  const what = `The table ${table} has ${dead} dead rows beside ${live} live ones; ${last}.`;
  const why = 'Reads and writes of the table get slower, and its disk space grows.';
  const cure = `vacuum (analyze) ${table}; If it comes back, look for old transactions and set autovacuum_vacuum_cost_limit higher.`;
  return warning('table_bloat', { what, why, cure });
}

function oldFinding({ pid, application, state, seconds }: OldTransaction): Found {
  const hours = (seconds / 3600).toFixed(1);
  const who = application === '' ? `process ${pid}` : `${application} (process ${pid})`;
  const what = `A transaction of ${who} has been open for ${hours} hours (${state}).`;
  const why = 'Dead rows of the whole database cannot be removed meanwhile, and migrations wait.';
  const cure = `End it where it was begun, or: select pg_terminate_backend(${pid});`;
  return warning('database_old_transaction', { what, why, cure });
}
