import type { Command } from 'commander';
import { openBackup, type ReadProgress } from '../../backup/read-backup.js';
import {
  type Restored,
  restoreBackup,
  stopRecoveredWork,
  verifyBackup,
} from '../../backup/restore-backup.js';
import { restoredKey } from '../../backup/restored-key.js';
import type { Config } from '../../config/config.js';
import type { StoppedWork } from '../../db/backup/pending-work.js';
import type { Database } from '../../db/connection/database.js';
import { knownMigrations } from '../../db/schema/migrate.js';
import { writeAudit } from '../../events/audit.js';
import type { Logger } from '../../logger.js';
import { cliContext } from '../audit-cli.js';
import { UsageError } from '../options.js';
import type { Ask } from '../password.js';
import type { WriteLine } from '../table.js';
import type { OpenBackupIo } from './backup.js';
import { paced, secondsSince, sizeText } from './backup-text.js';
import { passphraseOf } from './passphrase.js';

export interface RestoreIo {
  config: Pick<Config, 'dataDir' | 'masterKey' | 'backupPassphrase'>;
  logger: Logger;
  /** Opened after the backup was checked, since that makes an embedded database. */
  withDatabase(work: (db: Database) => Promise<void>): Promise<void>;
  stdin: AsyncIterable<Buffer | string>;
  ask: Ask | undefined;
  write: WriteLine;
}

export interface RestoreArgs {
  passphraseFile?: string | undefined;
  keepQueue?: boolean | undefined;
}

export async function restoreCommand(
  io: RestoreIo,
  file: string,
  { passphraseFile, keepQueue = false }: RestoreArgs,
): Promise<void> {
  const { config, logger, stdin, ask, write } = io;
  if (file === '-' || file === '') {
    throw new UsageError('name a file: a backup is read twice, so that it cannot come by a pipe');
  }
  const { dataDir, masterKey: configured, backupPassphrase } = config;
  const source = { file: passphraseFile, configured: backupPassphrase, stdin, ask };
  const started = performance.now();
  const backup = await openBackup(file, () => passphraseOf(file, source));
  const migrations = knownMigrations();
  const onProgress = progressLines('checking', write);
  const read = await verifyBackup(backup, { migrations, onProgress });
  const { manifest } = read;
  const key = restoredKey(read, { dataDir, configured, logger });
  const { created_at, muster_version, tables } = manifest;
  const of = `made ${created_at} by Muster ${muster_version}, PostgreSQL ${manifest.postgres_version}`;
  write(`${file} is whole: ${of}, ${tables.length} tables, ${sizeText(backup.size)}`);
  await io.withDatabase(async (db) => {
    const restored = await restoreBackup({
      db,
      logger,
      backup,
      manifest,
      keepsQueue: keepQueue,
      onProgress: progressLines('loading', write),
      onLoaded: async (trx, result) => {
        const details = { created_at, muster_version, ...countsOf(result) };
        await writeAudit(trx, { ...restoreEvent('backups.restore'), details });
        key.store();
      },
    }).catch((error: unknown) => {
      key.remove();
      throw error;
    });
    write(`restored ${restored.tables} tables, ${restored.rows} rows, in ${secondsSince(started)}`);
    for (const line of stoppedLines(restored.stopped)) write(line);
  });
  write(TOKENS);
  if (key.file !== undefined) write(`The master key of the backup is in ${key.file}.`);
}

/** The database has only the hashes of tokens. */
const TOKENS =
  'API tokens are those of the backup. If you have none of them: copy DATA_DIR/admin-token of the former server, ' +
  'or run `muster token create`, or `muster link console` once the server runs.';

function progressLines(verb: string, write: WriteLine): (progress: ReadProgress) => void {
  const say = paced(write);
  return ({ table, bytesRead, size }) => {
    const percent = Math.floor((100 * Math.min(bytesRead, size)) / Math.max(1, size));
    say(() => `${verb} ${table}: ${percent} % of ${sizeText(size)}`);
  };
}

function countsOf({ tables, rows, stopped }: Restored): Record<string, unknown> {
  return { tables, rows, ...stopped };
}

function restoreEvent(action: string) {
  const target = { targetType: 'backups', targetId: null };
  return { context: cliContext(), action, ...target, outcome: 'success' } as const;
}

function stoppedLines(stopped: StoppedWork | undefined): string[] {
  if (stopped === undefined) return ['Pending commands and jobs go on, as --keep-queue asks.'];
  const { commands, batches, jobs } = stopped;
  if (commands + batches + jobs === 0) return [];
  return [
    'Not done any more, since devices may have changed meanwhile: ' +
      `${commands} pending destructive commands, ${batches} batches of such, ` +
      `${jobs} jobs that disown or lock at Apple.`,
  ];
}

/** Stops what a database that PostgreSQL brought back to an earlier moment would do again. */
export async function recoveredCommand(
  { db, logger }: { db: Database; logger: Logger },
  write: WriteLine,
): Promise<void> {
  const stopped = await stopRecoveredWork({
    db,
    logger,
    onStopped: async (trx, { ...details }) => {
      await writeAudit(trx, { ...restoreEvent('backups.recovered'), details });
    },
  });
  const lines = stoppedLines(stopped);
  for (const line of lines) write(line);
  if (lines.length === 0) write('There was nothing to stop.');
  write('Everybody is signed out of the console. Start the server.');
}

/** `muster recovered`. */
export function addRecoveredCommand(
  program: Command,
  withDatabase: OpenBackupIo,
  write: WriteLine,
): void {
  program
    .command('recovered')
    .description(
      'after PostgreSQL went back in time: stop what must not be done again; the server must be stopped',
    )
    .action(() => withDatabase((io) => recoveredCommand(io, write)));
}

/** `muster restore`. */
export function addRestoreCommand(
  program: Command,
  open: () => Pick<RestoreIo, 'config' | 'logger' | 'withDatabase'>,
  rest: Pick<RestoreIo, 'stdin' | 'ask' | 'write'>,
): void {
  program
    .command('restore <file>')
    .description('load a backup into an empty database; the server must be stopped')
    .option('--passphrase-file <file>', 'of an encrypted backup (or BACKUP_PASSPHRASE)')
    .option(
      '--keep-queue',
      'leave pending destructive commands in the queue, such as those that erase or lock',
    )
    .action((file: string, args: RestoreArgs) =>
      restoreCommand({ ...open(), ...rest }, file, args),
    );
}
