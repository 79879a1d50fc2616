import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import {
  failBackup,
  finishBackup,
  markBackupsDeleted,
  removeOldBackups,
  startBackup,
  storeBackupProgress,
} from '../../db/backup/backup-repository.js';
import type { Database } from '../../db/connection/database.js';
import { AppError } from '../../errors.js';
import { Repeater } from '../../jobs/repeater.js';
import type { Task } from '../../jobs/task.js';
import type { Logger } from '../../logger.js';
import { removePartials } from '../backup-file.js';
import type { BackupProgress } from '../backup-stream.js';
import { type BackupSettings, MAKE_BACKUP, MAX_ATTEMPTS } from './backups.js';
import { deleteOldBackups } from './kept-backups.js';

/** Writes a backup of the server's database into a file; apart from what answers requests. */
export type WriteBackup = (
  request: { file: string; passphrase: string | undefined },
  options: { signal: AbortSignal; onProgress(progress: BackupProgress): void },
) => Promise<{ tables: number; rows: number; bytes: number }>;

export interface BackupTaskDeps {
  db: Database;
  logger: Logger;
  settings: BackupSettings;
  writeBackup: WriteBackup;
}

const PAYLOAD = z.object({ id: z.int() });
const PROGRESS_MS = 1_000;
const NOT_DELETED =
  'an old backup could not be deleted: delete it, or let the account of the server do so';

/** Makes a requested backup. One that fails is shown as failed: the next one is its repetition. */
export function createBackupTask(deps: BackupTaskDeps): Task<z.infer<typeof PAYLOAD>> {
  const { db, logger } = deps;
  return {
    name: MAKE_BACKUP,
    maxAttempts: MAX_ATTEMPTS,
    parse: (payload) => PAYLOAD.parse(payload),
    run: async ({ id }, { signal }) => {
      const backup = await startBackup(db, id);
      if (backup === undefined) return;
      const { file, isRepeated } = backup;
      try {
        await make(deps, { id, file, isRepeated, signal });
      } catch (error) {
        // The job runs again, in another process or after the next start.
        if (signal.aborted) throw error;
        const message = error instanceof AppError ? error.message : 'see the log of the server';
        await failBackup(db, id, message);
        logger.error({ err: error, backup: id, file }, 'a backup has failed');
      }
    },
  };
}

interface Making {
  id: number;
  file: string;
  isRepeated: boolean;
  signal: AbortSignal;
}

async function make(
  { db, logger, settings, writeBackup }: BackupTaskDeps,
  { id, file, isRepeated, signal }: Making,
): Promise<void> {
  const started = performance.now();
  const directory = dirname(file);
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch(unwritable(directory));
  // Whole or not, it is of a process that ended before it could say so.
  if (isRepeated) {
    await rm(file, { force: true });
    await removePartials(file, 0);
  }
  const progress = new ProgressWriter(db, logger, id);
  try {
    const { backupPassphrase: passphrase, backupKeep } = settings;
    const onProgress = (now: BackupProgress) => progress.note(now);
    const made = await writeBackup({ file, passphrase }, { signal, onProgress });
    await progress.stop();
    await finishBackup(db, id, made);
    const ms = Math.round(performance.now() - started);
    logger.info({ backup: id, file, ...made, ms }, 'a backup was made');
    await clearOld({ db, logger }, { directory, keep: backupKeep, made: file });
  } catch (error) {
    await removePartials(file, 0).catch(() => undefined); // The directory may be gone.
    throw error;
  } finally {
    await progress.stop();
  }
}

/** The backup is made: what goes wrong here is logged, and tried again after the next one. */
async function clearOld(
  { db, logger }: Pick<BackupTaskDeps, 'db' | 'logger'>,
  { directory, keep, made }: { directory: string; keep: number; made: string },
): Promise<void> {
  try {
    const { deleted, kept } = await deleteOldBackups(directory, keep, made);
    for (const { file, cause } of kept) logger.warn({ err: cause, file }, NOT_DELETED);
    await markBackupsDeleted(db, deleted);
    await removeOldBackups(db);
  } catch (err) {
    logger.warn(
      { err, directory },
      'old backups could not be deleted: the next backup tries again',
    );
  }
}

function unwritable(directory: string): (cause: Error) => never {
  return (cause) => {
    const message = `${directory} (BACKUP_DIR) cannot be made: ${cause.message}`;
    throw new AppError('bad_request', 400, message, { cause });
  };
}

/** Stores the progress once a second. */
class ProgressWriter {
  readonly #writes: Repeater;
  #latest: BackupProgress | undefined;

  constructor(db: Database, logger: Logger, id: number) {
    const write = async () => {
      const latest = this.#latest;
      this.#latest = undefined;
      if (latest !== undefined) await storeBackupProgress(db, id, latest);
    };
    this.#writes = new Repeater(write, {
      logger,
      intervalMs: PROGRESS_MS,
      failureMessage: 'the progress of a backup could not be stored',
      recoveryMessage: 'the progress of a backup is stored again',
    });
    void this.#writes.start();
  }

  note(progress: BackupProgress): void {
    this.#latest = progress;
  }

  async stop(): Promise<void> {
    await this.#writes.stop();
  }
}
