import type { Readable } from 'node:stream';
import { destructiveTypes } from '../commands/command-types.js';
import { endSignIns, type StoppedWork, stopDangerousWork } from '../db/backup/pending-work.js';
import {
  analyze,
  inClientTransaction,
  inRestoreTransaction,
} from '../db/backup/restore-transaction.js';
import { canHaveProcesses, inspectTarget } from '../db/backup/target.js';
import type { Database } from '../db/connection/database.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { liveProcesses } from '../db/processes/process-repository.js';
import { type LockedSchema, migrationStatus, withLockedSchema } from '../db/schema/migrate.js';
import { ACTIVATION_LOCK } from '../dep/devices/activation-lock.js';
import { DISOWN } from '../dep/devices/disown.js';
import { AppError } from '../errors.js';
import type { Logger } from '../logger.js';
import type { About, Manifest } from './manifest.js';
import { type OpenBackup, type ReadBackup, type ReadProgress, readBackup } from './read-backup.js';

export interface VerifyOptions {
  /** Names of this program's migrations. */
  migrations: readonly string[];
  onProgress?: ((progress: ReadProgress) => void) | undefined;
}

/** Checks every byte of a backup. AppError 400 naming what is damaged; 409 if it is of a newer Muster. */
export async function verifyBackup(
  backup: OpenBackup,
  { migrations, onProgress }: VerifyOptions,
): Promise<ReadBackup> {
  return await readBackup(backup, {
    onAbout: (about) => refuseNewer(about, migrations),
    onProgress,
  });
}

function refuseNewer({ muster_version, migrations }: About, known: readonly string[]): void {
  const unknown = migrations.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const message =
    `it was made by a newer Muster (${muster_version}, with the migration ${unknown[0]}): install ` +
    'that version, then restore';
  throw new AppError('conflict', 409, message);
}

export interface RestoreRequest {
  db: Database;
  logger: Logger;
  backup: OpenBackup;
  manifest: Manifest;
  /** Pending commands that erase or lock, and jobs at Apple, stay as they are. */
  keepsQueue: boolean;
  onProgress?: ((progress: ReadProgress) => void) | undefined;
  /** The last step of the transaction. */
  onLoaded(trx: Transaction, restored: Restored): Promise<void>;
}

export interface Restored {
  tables: number;
  rows: number;
  stopped: StoppedWork | undefined;
}

/**
 * Loads a verified backup into an empty database, in one transaction. AppError conflict, and nothing
 * was changed, when the database is not empty or a server runs on it.
 */
export async function restoreBackup(request: RestoreRequest): Promise<Restored> {
  const { db, logger } = request;
  await refuseUsed(db);
  return await withLockedSchema(db, logger, async (schema) => {
    // Another restore may have been faster.
    await refuseUsed(db);
    const { isMigrated } = await inspectTarget(db);
    try {
      await prepareSchema(schema, request);
      const restored = await load(request);
      await schema.migrate();
      await analyze(db);
      return restored;
    } catch (error) {
      if (!isMigrated) await clearUnused(db, schema);
      throw error;
    }
  });
}

async function refuseUsed(db: Database): Promise<void> {
  const { content } = await inspectTarget(db);
  if (await canHaveProcesses(db)) await refuseServed(db);
  if (content === undefined) return;
  const message =
    `the database is not empty (${content}); nothing was changed. Restore into a new database: ` +
    'another DATABASE_URL, or another DATA_DIR';
  throw new AppError('conflict', 409, message);
}

/** AppError conflict while processes serve the database. */
export async function refuseServed({ knex }: Database): Promise<void> {
  const live = await liveProcesses(knex);
  if (live.length === 0) return;
  const who = live.map(({ hostname, pid }) => `${hostname}, process ${pid}`).join('; ');
  const message = `a server runs on this database (${who}): stop every process of it first`;
  throw new AppError('conflict', 409, message);
}

/** As far as the database answers: the failure before it is the one to report. */
async function clearUnused(db: Database, schema: LockedSchema): Promise<void> {
  const target = await inspectTarget(db).catch(() => undefined);
  if (target === undefined || target.content !== undefined) return;
  await schema.clear().catch(() => undefined);
}

/** The schema of the backup, whatever an unused database had. */
async function prepareSchema(
  schema: LockedSchema,
  { db, manifest: { migrations } }: RestoreRequest,
): Promise<void> {
  const { applied } = await migrationStatus(db);
  if (applied.some((name) => !migrations.includes(name))) await schema.clear();
  await schema.migrate(migrations);
}

async function load(request: RestoreRequest): Promise<Restored> {
  const { db, backup, manifest, keepsQueue, onProgress, onLoaded } = request;
  const { tables, sequences } = manifest;
  return await inRestoreTransaction(db, tables, async ({ trx, client, loader }) => {
    const done = { tables: 0, rows: 0 };
    await readBackup(backup, {
      onTable: async ({ row_format: rowFormat, ...table }, rows: Readable) => {
        const count = await loader.copyIn({ ...table, rowFormat }, rows);
        const expected = tables[done.tables];
        if (expected?.name !== table.name || expected.rows !== count) throw changedSince(backup);
        done.tables += 1;
        done.rows += count;
      },
      onProgress,
    });
    if (done.tables !== tables.length) throw changedSince(backup);
    await loader.finish(sequences);
    await endSignIns(client, tables);
    const stopped = keepsQueue ? undefined : await stopDangerousWork(client, DANGEROUS);
    const restored = { ...done, stopped };
    await onLoaded(trx, restored);
    return restored;
  });
}

/** The database of a server that was brought back to an earlier moment by PostgreSQL's own means. */
export interface RecoveredDatabase {
  db: Database;
  logger: Logger;
  /** The last step of the transaction. */
  onStopped(trx: Transaction, stopped: StoppedWork): Promise<void>;
}

/** Stops there what a restore stops, and signs everybody out. AppError conflict while a server runs. */
export async function stopRecoveredWork(recovered: RecoveredDatabase): Promise<StoppedWork> {
  const { db, logger, onStopped } = recovered;
  return await withLockedSchema(db, logger, async (schema) => {
    if (await canHaveProcesses(db)) await refuseServed(db);
    await schema.migrate();
    return await inClientTransaction(db, async ({ trx, client }) => {
      await endSignIns(client);
      const stopped = await stopDangerousWork(client, DANGEROUS);
      await onStopped(trx, stopped);
      return stopped;
    });
  });
}

const DANGEROUS = {
  requestTypes: destructiveTypes(),
  disownTask: DISOWN,
  activationLockTask: ACTIVATION_LOCK,
};

function changedSince({ file }: OpenBackup): AppError {
  return new AppError('conflict', 409, `${file} has changed since it was checked`);
}
