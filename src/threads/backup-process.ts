// The program of a process that writes one backup. It ends with its connection to the server.
import { writeBackupFile } from '../backup/backup-file.js';
import { type BackupProgress, paced } from '../backup/backup-stream.js';
import { makeBackup } from '../backup/make-backup.js';
import { connectDatabase, type DatabaseAddress } from '../db/connection/database.js';
import { yieldToOthers } from './priority.js';
import { type SentError, writeError } from './thread-values.js';

export interface BackupProcessInput {
  address: DatabaseAddress;
  file: string;
  passphrase: string | undefined;
  masterKeyId: string;
  musterVersion: string;
}

export type FromBackupProcess =
  | { progress: BackupProgress }
  | { made: { tables: number; rows: number; bytes: number } }
  | { error: SentError };

const PAUSE_MS = 250;

const send = (message: FromBackupProcess) => process.send?.(message);

async function run(input: BackupProcessInput): Promise<void> {
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
        // The embedded PostgreSQL alone is known to run on this machine.
        onBackend: address.connection === undefined ? undefined : yieldToOthers,
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

// A terminal and service managers send these to all processes; the server decides.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('disconnect', () => process.exit());
process.once('message', (input: BackupProcessInput) => {
  run(input).catch((error: unknown) => send({ error: writeError(error) }));
});
