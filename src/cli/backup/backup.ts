import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { writeBackupFile } from '../../backup/backup-file.js';
import type { BackupProgress } from '../../backup/backup-stream.js';
import { makeBackup } from '../../backup/make-backup.js';
import { findMasterKey } from '../../backup/restored-key.js';
import type { Config } from '../../config/config.js';
import { insertMadeBackup, type MadeBackup } from '../../db/backup/backup-repository.js';
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
  /** Of progress; to standard error where the backup goes to standard output. */
  write: WriteLine;
  stdout: NodeJS.WritableStream;
}

export interface BackupArgs {
  withMasterKey?: boolean | undefined;
  passphraseFile?: string | undefined;
}

/** `-` is standard output. */
export async function backupCommand(io: BackupIo, file: string, args: BackupArgs): Promise<void> {
  const { config, db, logger, musterVersion, write } = io;
  if (file === '') throw new UsageError('name the file to write, or - for standard output');
  const { dataDir, masterKey: configured, backupPassphrase } = config;
  const { withMasterKey, passphraseFile } = args;
  const source = { file: passphraseFile, configured: backupPassphrase, ...io.passphrase };
  const passphrase = await newPassphrase(source);
  const started = performance.now();
  const startedAt = new Date();
  const progress = { last: { tablesDone: 0, tablesTotal: 0, rows: 0, bytes: 0 } as BackupProgress };
  const say = paced(write);
  const size = await makeBackup(
    {
      ...{ db, musterVersion, passphrase, withMasterKey },
      masterKey: findMasterKey({ dataDir, configured, logger }),
      onProgress: (now) => {
        progress.last = now;
        say(() => `${now.tablesDone} of ${now.tablesTotal} tables, ${sizeText(now.bytes)} of rows`);
      },
    },
    (bytes) => (file === '-' ? writeTo(io.stdout, bytes) : writeBackupFile(file, bytes)),
  );
  const { tablesDone, rows } = progress.last;
  const isEncrypted = passphrase !== undefined;
  const made = { file: pathOf(file), tables: tablesDone, rows, bytes: size };
  await record(db, { made, isEncrypted, startedAt });
  const how = isEncrypted ? 'encrypted' : 'not encrypted';
  const what = `${tablesDone} tables, ${rows} rows, ${sizeText(size)}, ${how}`;
  write(`${file === '-' ? 'standard output' : file}: ${what}, in ${secondsSince(started)}`);
  if (withMasterKey === true) return;
  write('The master key is not in it: keep a copy of it elsewhere.');
}

function pathOf(file: string): string {
  return file === '-' ? file : resolve(file);
}

/** So that the server knows the age of its newest backup. */
async function record(
  db: Database,
  { made, isEncrypted, startedAt }: { made: MadeBackup; isEncrypted: boolean; startedAt: Date },
): Promise<void> {
  await inTransaction(db, async (trx) => {
    const context = cliContext();
    const backup = {
      source: 'command' as const,
      is_encrypted: isEncrypted,
      created_by: context.actor.name,
    };
    const targetId = await insertMadeBackup(trx, { ...backup, ...made, startedAt });
    await writeAudit(trx, {
      ...{ context, action: 'backups.create', targetType: 'backups' },
      ...{ targetId, outcome: 'success', details: { ...made } },
    });
  });
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
