import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { version as musterVersion } from '../../package.json';
import type { WriteBackup } from '../backup/server/backup-task.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import { masterKeyId } from '../pki/master-key/master-key.js';
import type { BackupThreadInput, FromBackupThread } from './backup-thread.js';
import { readError } from './thread-values.js';

const MEMORY = { maxOldGenerationSizeMb: 256 };

/** Writes backups in a thread of their own. Ends it when the signal is aborted. */
export function backupInThread(
  { address }: Pick<Database, 'address'>,
  box: SecretBox,
): WriteBackup {
  const about = { address, masterKeyId: masterKeyId(box), musterVersion };
  return ({ file, passphrase }, { signal, onProgress }) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const input: BackupThreadInput = { ...about, file, passphrase };
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
