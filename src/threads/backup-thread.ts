// The program of a thread that writes one backup: reading millions of rows would delay the event loop.
import { parentPort, workerData } from 'node:worker_threads';
import { writeBackupFile } from '../backup/backup-file.js';
import { type BackupProgress, paced } from '../backup/backup-stream.js';
import { makeBackup } from '../backup/make-backup.js';
import { connectDatabase, type DatabaseAddress } from '../db/connection/database.js';
import { type SentError, writeError } from './thread-values.js';

export interface BackupThreadInput {
  address: DatabaseAddress;
  file: string;
  passphrase: string | undefined;
  masterKeyId: string;
  musterVersion: string;
}

export type FromBackupThread =
  | { progress: BackupProgress }
  | { made: { tables: number; rows: number; bytes: number } }
  | { error: SentError };

const PAUSE_MS = 250;

const send = (message: FromBackupThread) => parentPort?.postMessage(message);

async function run(input: BackupThreadInput): Promise<void> {
  const { address, file, passphrase, musterVersion, masterKeyId } = input;
  const db = connectDatabase({ ...address, poolSize: 1, applicationName: 'muster backup' });
  let sentAt = 0;
  let last: BackupProgress = { tablesDone: 0, tablesTotal: 0, rows: 0, bytes: 0 };
  try {
    const bytes = await makeBackup(
      {
        db,
        passphrase,
        musterVersion,
        masterKeyId,
        onProgress: (progress) => {
          last = progress;
          if (performance.now() - sentAt < PAUSE_MS) return;
          sentAt = performance.now();
          send({ progress });
        },
      },
      (stream) => writeBackupFile(file, paced(stream)),
    );
    send({ made: { tables: last.tablesDone, rows: last.rows, bytes } });
  } finally {
    await db.close();
  }
}

run(workerData as BackupThreadInput).catch((error: unknown) => send({ error: writeError(error) }));
