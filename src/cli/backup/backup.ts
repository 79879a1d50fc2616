import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { writeBackupFile } from '../../backup/backup-file.js';
import type { BackupProgress } from '../../backup/backup-stream.js';
import { makeBackup } from '../../backup/make-backup.js';
import { findMasterKey } from '../../backup/restored-key.js';
import type { Config } from '../../config/config.js';
import {
  type BackupSize,
  type CommandBackup,
  type FailedBackup,
  insertFailedBackup,
  insertMadeBackup,
} from '../../db/backup/backup-repository.js';
import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { AppError } from '../../errors.js';
import { writeAudit } from '../../events/audit.js';
import type { Logger } from '../../logger.js';
import { cliContext } from '../audit-cli.js';
import { UsageError } from '../options.js';
import type { WriteLine } from '../table.js';
import { paced, secondsSince, sizeText } from './backup-text.js';
import { newPassphrase, type PassphraseSource } from './passphrase.js';

export interface BackupIo {
  config: Pick<Config, 'dataDir' | 'masterKey' | 'backupPassphrase'>;
  db: Database;
  logger: Logger;
  musterVersion: string;
  passphrase: Pick<PassphraseSource, 'stdin'>;
  /** Writes progress; to standard error if the backup goes to standard output. */
  write: WriteLine;
  stdout: NodeJS.WritableStream;
}

export interface BackupArgs {
  withMasterKey?: boolean | undefined;
  passphraseFile?: string | undefined;
}

/** `-` is standard output. */
export async function backupCommand(io: BackupIo, file: string, args: BackupArgs): Promise<void> {
  const { config, db, write } = io;
  if (file === '') throw new UsageError('name the file to write, or - for standard output');
  const { passphraseFile, withMasterKey } = args;
  const started = performance.now();
  const backup: CommandBackup = {
    file: file === '-' ? file : resolve(file),
    is_encrypted: (passphraseFile ?? config.backupPassphrase) !== undefined,
    created_by: cliContext().actor.name,
    startedAt: new Date(),
  };
  const progress = { last: { tablesDone: 0, tablesTotal: 0, rows: 0, bytes: 0 } };
  const onProgress = (now: BackupProgress) => {
    progress.last = now;
  };
  const bytes = await make(io, { file, args, onProgress }).catch(async (error: unknown) => {
    await recordFailure(io, { ...backup, progress: progress.last, error: messageOf(error) });
    throw error;
  });
  const { tablesDone: tables, rows } = progress.last;
  await record(db, { ...backup, tables, rows, bytes });
  const how = backup.is_encrypted ? 'encrypted' : 'not encrypted';
  const what = `${tables} tables, ${rows} rows, ${sizeText(bytes)}, ${how}`;
  write(`${file === '-' ? 'standard output' : file}: ${what}, in ${secondsSince(started)}`);
  if (withMasterKey === true) return;
  write('The master key is not in it: keep a copy of it elsewhere.');
}

interface Making {
  file: string;
  args: BackupArgs;
  onProgress(progress: BackupProgress): void;
}

/** Returns the size of the file. */
async function make(io: BackupIo, { file, args, onProgress }: Making): Promise<number> {
  const { config, db, logger, musterVersion, write, stdout } = io;
  const { dataDir, masterKey: configured, backupPassphrase } = config;
  const { withMasterKey, passphraseFile } = args;
  const source = { file: passphraseFile, configured: backupPassphrase, ...io.passphrase };
  const passphrase = await newPassphrase(source);
  const say = paced(write);
  return await makeBackup(
    {
      db,
      musterVersion,
      passphrase,
      withMasterKey,
      masterKey: findMasterKey({ dataDir, configured, logger }),
      onProgress: (now) => {
        onProgress(now);
        say(() => `${now.tablesDone} of ${now.tablesTotal} tables, ${sizeText(now.bytes)} of rows`);
      },
    },
    (bytes) => (file === '-' ? writeTo(stdout, bytes) : writeBackupFile(file, bytes)),
  );
}

/** So that the server knows the age of its newest backup. */
async function record(db: Database, backup: CommandBackup & BackupSize): Promise<void> {
  await inTransaction(db, async (trx) => {
    const { file, tables, rows, bytes } = backup;
    const targetId = await insertMadeBackup(trx, backup);
    await writeAudit(trx, {
      context: cliContext(),
      action: 'backups.create',
      targetType: 'backups',
      targetId,
      outcome: 'success',
      details: { file, tables, rows, bytes },
    });
  });
}

/** So that who does not see this output, as of cron, finds it in the list and by the doctor. */
async function recordFailure({ db, logger }: BackupIo, backup: FailedBackup): Promise<void> {
  await insertFailedBackup(db, backup).catch((err: unknown) => {
    logger.warn({ err }, 'the failure of the backup could not be recorded');
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function writeTo(
  stream: NodeJS.WritableStream,
  bytes: AsyncIterable<Buffer>,
): Promise<number> {
  let size = 0;
  const counted = async function* () {
    for await (const part of bytes) {
      size += part.length;
      yield part;
    }
  };
  await pipeline(Readable.from(counted()), stream, { end: false }).catch((cause: Error) => {
    if (!('syscall' in cause)) throw cause;
    const message = `standard output cannot be written (${cause.message}): what was written is no backup`;
    throw new AppError('bad_request', 400, message, { cause });
  });
  return size;
}

export type OpenBackupIo = (
  work: (io: Pick<BackupIo, 'config' | 'db' | 'logger'>) => Promise<void>,
) => Promise<void>;

/** `muster backup`. */
export function addBackupCommand(
  program: Command,
  withKeys: OpenBackupIo,
  rest: Pick<BackupIo, 'musterVersion'>,
): void {
  const { stdin, stdout, stderr } = process;
  program
    .command('backup <file>')
    .description('write a backup of the whole database, also while the server runs')
    .option('--with-master-key', 'put the master key into it; only of an encrypted backup')
    .option('--passphrase-file <file>', 'encrypt it (or BACKUP_PASSPHRASE); - is standard input')
    .action((file: string, args: BackupArgs) =>
      withKeys((io) => {
        const lines = file === '-' ? stderr : stdout;
        const write = (line: string) => lines.write(`${line}\n`);
        return backupCommand({ ...io, ...rest, passphrase: { stdin }, write, stdout }, file, args);
      }),
    );
}
