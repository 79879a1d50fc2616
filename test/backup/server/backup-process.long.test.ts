import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { constants, getPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { backupInProcess } from '../../../src/threads/backup-in-process.js';
import { MASTER_KEY } from '../../helpers/app.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';
import { verify } from '../backup-files.js';

let test: TestDatabase;
let file: string;
let stopping: AbortController;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(async () => {
  await test?.drop();
  removeTemporaryDirectories();
});
beforeEach(() => {
  file = join(temporaryDirectory(), 'one.backup');
  stopping = new AbortController();
});

/** Those that this process has started and that write a backup. */
function backupProcesses(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const [, parent] = /\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        return parent === String(process.pid) && command.includes('backup-process');
      } catch {
        return false;
      }
    })
    .map(Number);
}

function write(onProgress: () => void) {
  const writeBackup = backupInProcess(test.db, new SecretBox(MASTER_KEY));
  return writeBackup({ file, passphrase: undefined }, { signal: stopping.signal, onProgress });
}

/** What the kernel counts sessions with: "/autogroup-7 nice 19"; nothing where it divides no cores between them. */
function sessionPriority(pid: number): number | undefined {
  const file = `/proc/${pid}/autogroup`;
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split(' nice ')[1]) : undefined;
}

/** While a table is locked, a backup that has begun waits. */
async function whileWaiting(work: (written: Promise<unknown>) => Promise<void>): Promise<void> {
  const lock = await test.db.knex.transaction();
  try {
    await lock.raw('lock table tags in access exclusive mode');
    const written = write(() => undefined);
    written.catch(() => undefined);
    while (backupProcesses().length === 0) await sleep(10);
    await work(written);
    expect(existsSync(file)).toBe(false);
    expect(backupProcesses()).toEqual([]);
  } finally {
    await lock.rollback();
  }
}

describe('the process of a backup', () => {
  it('has a lower priority than the server, and ends after a whole backup', async () => {
    const priorities: number[] = [];
    const ofSessions: (number | undefined)[] = [];
    const made = await write(() => {
      priorities.push(...backupProcesses().map(getPriority));
      ofSessions.push(...backupProcesses().map(sessionPriority));
    });
    const lower = constants.priority.PRIORITY_BELOW_NORMAL;
    expect(new Set(priorities)).toEqual(new Set([lower]));
    const hasSessions = sessionPriority(process.pid) !== undefined;
    expect(new Set(ofSessions)).toEqual(new Set([hasSessions ? lower : undefined]));
    expect(made.tables).toBeGreaterThan(50);
    await verify(file);
    expect(backupProcesses()).toEqual([]);
  });

  it('leaves no file of this name when it is killed', () =>
    whileWaiting(async (written) => {
      for (const pid of backupProcesses()) process.kill(pid, 'SIGKILL');
      await expect(written).rejects.toThrow('the process of the backup ended');
    }));

  it('ends when the backup is given up, for its reason', () =>
    whileWaiting(async (written) => {
      stopping.abort(new Error('the server stops'));
      await expect(written).rejects.toThrow('the server stops');
    }));
});
