import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { version as musterVersion } from '../../package.json';
import type { WriteBackup } from '../backup/server/backup-task.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import { masterKeyId } from '../pki/master-key/master-key.js';
import type { BackupProcessInput, FromBackupProcess } from './backup-process.js';
import { yieldToOthers } from './priority.js';
import { readError } from './thread-values.js';

/** One thread for garbage collection beside the main thread. */
const NODE_ARGUMENTS = ['--max-old-space-size=256', '--v8-pool-size=1'];

/**
 * Writes each backup in a process of lower priority: compression uses libuv's threads, and those of
 * this process serve requests. Kills that process when the signal is aborted.
 */
export function backupInProcess(
  { address }: Pick<Database, 'address'>,
  box: SecretBox,
): WriteBackup {
  const about = { address, masterKeyId: masterKeyId(box), musterVersion };
  return ({ file, passphrase }, { signal, onProgress }) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const child = startProcess();
      const stop = () => void child.kill('SIGKILL');
      signal.addEventListener('abort', stop, { once: true });
      let last: FromBackupProcess | undefined;
      child.on('message', (message: FromBackupProcess) => {
        last = message;
        if ('progress' in message) onProgress(message.progress);
        else child.disconnect();
      });
      child.on('error', reject);
      child.on('exit', () => {
        signal.removeEventListener('abort', stop);
        if (last !== undefined && 'made' in last) resolve(last.made);
        else if (last !== undefined && 'error' in last) reject(readError(last.error));
        else reject(signal.reason ?? new Error('the process of the backup ended'));
      });
      const input: BackupProcessInput = { ...about, file, passphrase };
      child.send(input, (error) => error && reject(error));
    });
}

/** Compiled, or from the sources. */
function startProcess(): ChildProcess {
  const compiled = join(__dirname, 'backup-process.js');
  const isCompiled = existsSync(compiled);
  const child = fork(isCompiled ? compiled : join(__dirname, 'backup-process.ts'), {
    serialization: 'advanced',
    // A new session, whose priority can be lowered as a whole.
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [...NODE_ARGUMENTS, ...(isCompiled ? [] : ['--require', require.resolve('tsx/cjs')])],
  });
  // At once: loading its modules takes CPU time too.
  if (child.pid !== undefined) yieldToOthers(child.pid);
  return child;
}
