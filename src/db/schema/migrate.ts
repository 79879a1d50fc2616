import type { Knex } from 'knex';
import { AppError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import type { Database } from '../connection/database.js';
import { dropJobs, migrateJobs } from '../jobs/jobs-schema.js';
import { DirectoryMigrationSource, failureOf, MIGRATIONS_DIRECTORY } from './migration-source.js';
import { underLock } from './schema-lock.js';

export interface MigrationOptions {
  logger: Logger;
  /** Directory of the migrations; Muster's own by default. */
  directory?: string;
}

export interface MigrationStatus {
  applied: string[];
  pending: string[];
  /** Recorded in the database, unknown to this Muster: the database is newer. */
  unknown: string[];
}

const OLDEST_SERVER = 140_000;

function config(migrationSource: DirectoryMigrationSource): Knex.MigratorConfig {
  return { migrationSource };
}

/** `version` as in server_version_num: 140005 is 14.5. Throws AppError below 14. */
export function requireSupportedVersion(version: number): void {
  if (version >= OLDEST_SERVER) return;
  const major = Math.floor(version / 10_000);
  throw new AppError('unavailable', 503, `PostgreSQL 14 or newer is needed, this is ${major}`);
}

interface ServerFacts {
  version: number;
  encoding: string;
  role: string;
  schema: string | null;
  may_create: boolean;
  is_new: boolean;
}

const SERVER_FACTS = `
select current_setting('server_version_num')::int as version,
  current_setting('server_encoding') as encoding, current_user as role, current_schema() as schema,
  coalesce(has_schema_privilege(current_schema(), 'create'), false) as may_create,
  to_regclass('knex_migrations') is null as is_new`;

async function requireSupportedServer(db: Database): Promise<void> {
  const { rows } = await db.knex.raw<{ rows: ServerFacts[] }>(SERVER_FACTS);
  for (const facts of rows) requireUsable(facts);
}

function requireUsable({ version, encoding, role, schema, may_create, is_new }: ServerFacts): void {
  requireSupportedVersion(version);
  if (encoding !== 'UTF8') {
    const message =
      `the encoding of the database is ${encoding}, and must be UTF8: make another one, by ` +
      "create database muster encoding 'UTF8' template template0";
    throw new AppError('unavailable', 503, message);
  }
  if (!is_new || may_create) return;
  const message =
    `the role ${role} may not create tables in schema ${schema ?? 'public'}: make it the owner of the database ` +
    `(alter database NAME owner to "${role}"), or run as superuser in it: ` +
    `grant create on schema ${schema ?? 'public'} to "${role}"`;
  throw new AppError('unavailable', 503, message);
}

/** The names of this program's own migrations, in their order. */
export function knownMigrations(): string[] {
  return new DirectoryMigrationSource(MIGRATIONS_DIRECTORY).names();
}

/** Reads only: a database never migrated has everything pending. */
export async function migrationStatus(
  db: Database,
  directory: string = MIGRATIONS_DIRECTORY,
): Promise<MigrationStatus> {
  const known = new DirectoryMigrationSource(directory).names();
  const recorded = await recordedMigrations(db);
  return {
    applied: recorded.filter((name) => known.includes(name)),
    pending: known.filter((name) => !recorded.includes(name)),
    unknown: recorded.filter((name) => !known.includes(name)),
  };
}

async function recordedMigrations(db: Database): Promise<string[]> {
  const table = await db.background.query<{ is_there: boolean }>(
    `select to_regclass('knex_migrations') is not null as is_there`,
  );
  if (table.rows[0]?.is_there !== true) return [];
  const { rows } = await db.background.query<{ name: string }>(
    'select name from knex_migrations order by id',
  );
  return rows.map(({ name }) => name);
}

/** Throws AppError if the database has migrations that this Muster does not know. */
export async function requireKnownDatabase(db: Database, directory: string): Promise<void> {
  const { unknown } = await migrationStatus(db, directory);
  if (unknown.length === 0) return;
  const message = `The database is newer than this Muster: it has the migrations ${unknown.join(', ')}`;
  throw new AppError('unavailable', 503, message);
}

function sourceOf(directory: string, logger: Logger): DirectoryMigrationSource {
  return new DirectoryMigrationSource(directory, (details, message) =>
    logger.warn(details, message),
  );
}

async function prepare(db: Database, source: DirectoryMigrationSource): Promise<void> {
  await requireSupportedServer(db);
  await requireKnownDatabase(db, source.directory);
  // No other process can be migrating now, so a lock row was left by a killed process.
  await db.knex.migrate.forceFreeMigrationsLock(config(source));
}

/**
 * Applies Muster's pending migrations, then the job queue's. Several processes may call it at once.
 * Muster's share one transaction, divided only by migrations that run outside of any. Returns the names
 * applied. Throws AppError for a server too old or a database newer than this Muster.
 */
export async function migrate(db: Database, options: MigrationOptions): Promise<string[]> {
  const { logger, directory = MIGRATIONS_DIRECTORY } = options;
  const source = sourceOf(directory, logger);
  return await underLock(db, logger, async () => await migrateLocked(db, source, logger));
}

async function migrateLocked(
  db: Database,
  source: DirectoryMigrationSource,
  logger: Logger,
): Promise<string[]> {
  await prepare(db, source);
  const applied = await runPending(db, source, logger);
  await migrateJobs(db, logger);
  return applied;
}

/** The schema while this process alone may change it. */
export interface LockedSchema {
  /** Applies the pending migrations: all, or those of these names. */
  migrate(names?: readonly string[]): Promise<string[]>;
  /** Reverts all migrations, which leaves nothing of Muster in the database. */
  clear(): Promise<void>;
}

/** Runs `work` while no other process can migrate, and so no server can start. */
export async function withLockedSchema<T>(
  db: Database,
  logger: Logger,
  work: (schema: LockedSchema) => Promise<T>,
): Promise<T> {
  const source = sourceOf(MIGRATIONS_DIRECTORY, logger);
  return await underLock(db, logger, async () => {
    return await work({
      migrate: (names) => {
        const wanted = names === undefined ? source : source.only([...names]);
        return migrateLocked(db, wanted, logger);
      },
      clear: async () => {
        await revert(db, source, { all: true });
      },
    });
  });
}

async function runPending(
  db: Database,
  source: DirectoryMigrationSource,
  logger: Logger,
): Promise<string[]> {
  const { applied: before, pending: all } = await migrationStatus(db, source.directory);
  const pending = all.filter((name) => source.names().includes(name));
  const applied: string[] = [];
  let firstBatch: number | undefined;
  for (const group of source.groups(pending)) {
    const part = source.only([...before, ...applied, ...group]);
    const latest = db.knex.migrate.latest(config(part)).catch(failureOf(part));
    const [batch, names] = (await latest) as [number, string[]];
    for (const name of names) {
      logger.info({ migration: name, ms: part.durations.get(name) }, 'migration applied');
    }
    applied.push(...names);
    firstBatch ??= batch;
    // One batch for all, since a rollback reverts a batch.
    await db.knex('knex_migrations').whereIn('name', names).update({ batch: firstBatch });
  }
  return applied;
}

/**
 * Reverts the last batch of migrations, or all of them; returns their names. AppError conflict if the last
 * batch has all of them and `all` is not set.
 */
export async function rollback(
  db: Database,
  options: MigrationOptions & { all?: boolean | undefined },
): Promise<string[]> {
  const { logger, directory = MIGRATIONS_DIRECTORY, all = false } = options;
  const source = sourceOf(directory, logger);
  return await underLock(db, logger, async () => {
    if (!all) await requireFormerBatch(db);
    const names = await revert(db, source, { all });
    for (const name of names) logger.info({ migration: name }, 'migration reverted');
    return names;
  });
}

async function requireFormerBatch(db: Database): Promise<void> {
  if ((await recordedMigrations(db)).length === 0) return;
  const { rows } = await db.knex.raw<{ rows: { batches: number }[] }>(
    'select count(distinct batch)::int as batches from knex_migrations',
  );
  if ((rows[0]?.batches ?? 0) > 1) return;
  const message =
    'all migrations were applied together, so there is no former schema to go back to: taking them back would ' +
    'delete every row. To go back to a former version, restore its backup (docs/backup.md)';
  throw new AppError('conflict', 409, message);
}

async function revert(
  db: Database,
  source: DirectoryMigrationSource,
  { all }: { all: boolean },
): Promise<string[]> {
  await prepare(db, source);
  const [, names] = (await db.knex.migrate.rollback(config(source), all)) as [number, string[]];
  if ((await recordedMigrations(db)).length === 0) await dropJobs(db);
  return names;
}
