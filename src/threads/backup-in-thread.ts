import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import type { WriteBackup } from '../backup/server/backup-task.js';
import type { DatabaseAddress } from '../db/connection/database.js';
import type { BackupThreadInput, FromBackupThread } from './backup-thread.js';
import { readError } from './thread-values.js';

export interface BackupThreadDeps {
  address: DatabaseAddress;
  masterKeyId: string;
  musterVersion: string;
}

const MEMORY = { maxOldGenerationSizeMb: 256 };

/** Writes backups in a thread of their own. Ends it when the signal is aborted. */
export function backupInThread({
  address,
  masterKeyId,
  musterVersion,
}: BackupThreadDeps): WriteBackup {
  return ({ file, passphrase }, { signal, onProgress }) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const input: BackupThreadInput = { address, file, passphrase, masterKeyId, musterVersion };
      const worker = startWorker({ workerData: input, resourceLimits: MEMORY });
      const stop = () => void worker.terminate();
      signal.addEventListener('abort', stop, { once: true });
      worker.on('message', (message: FromBackupThread) => {
        if ('progress' in message) onProgress(message.progress);
        else if ('made' in message) resolve(message.made);
        else reject(readError(message.error));
      });
      worker.on('error', reject);
      worker.on('exit', () => {
        signal.removeEventListener('abort', stop);
        reject(signal.reason ?? new Error('the thread of the backup ended'));
      });
    });
}

/** As the threads of the pool: compiled, or from the sources. */
function startWorker(options: WorkerOptions): Worker {
  const compiled = join(__dirname, 'backup-thread.js');
  if (existsSync(compiled)) return new Worker(compiled, { ...options, execArgv: [] });
  const execArgv = ['--require', require.resolve('tsx/cjs')];
  return new Worker(join(__dirname, 'backup-thread.ts'), { ...options, execArgv });
}
