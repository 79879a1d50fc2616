import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type BackupArgs, backupCommand } from '../../../src/cli/backup/backup.js';
import { isBackupDue } from '../../../src/db/backup/backup-repository.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { backupsCheck } from '../../../src/doctor/checks/backups.js';
import { brief, examine } from '../../doctor/doctor-helpers.js';
import { adminApi, MASTER_KEY, startApp, type TestApp } from '../../helpers/app.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';
import { capturingLogger } from '../../http/log-lines.js';

let app: TestApp;
let home: string;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  home = temporaryDirectory();
});
afterAll(async () => {
  await app.stop();
  removeTemporaryDirectories();
});
beforeEach(() => app.db.knex('backups').delete());

const { logger, lines: logged } = capturingLogger();

async function run(file: string, args: BackupArgs = {}): Promise<void> {
  const stdout = new PassThrough();
  stdout.resume();
  const config = { dataDir: home, masterKey: MASTER_KEY, backupPassphrase: undefined };
  const passphrase = { stdin: new PassThrough() };
  const io = { config, db: app.db, logger, musterVersion: '9.9.9', passphrase, stdout };
  await backupCommand({ ...io, write: () => undefined }, file, args);
}

async function shown(): Promise<Record<string, unknown>[]> {
  const { status, body } = await adminApi(app).get('/backups?sort=id');
  expect(status).toBe(200);
  return (body.data as { attributes: Record<string, unknown> }[]).map((row) => row.attributes);
}

const examined = async (env: Record<string, string> = {}) =>
  await examine({ checks: [backupsCheck], db: app.db, env });

describe('muster backup', () => {
  it('is in the list of backups with its result', async () => {
    const file = join(home, 'made.backup');
    await run(file);
    const [backup, ...others] = await shown();
    expect(others).toEqual([]);
    expect(backup).toMatchObject({
      ...{ state: 'finished', source: 'command', created_by: 'cli', is_encrypted: false },
      ...{ file, bytes: statSync(file).size, tables_done: backup?.tables_total, error: null },
    });
    const events = await app.db.knex('audit_events').where({ target_type: 'backups' });
    expect(events).toMatchObject([{ action: 'backups.create', actor: 'cli', outcome: 'success' }]);
  });

  it('that fails is in the list with the reason, and the doctor reports it until one succeeds', async () => {
    const file = join(home, 'there.backup');
    writeFileSync(file, '');
    const reason = `${file} exists: name another file, or move this one away`;
    await expect(run(file)).rejects.toThrow(reason);
    expect(await shown()).toEqual([
      {
        ...{ state: 'failed', source: 'command', created_by: 'cli', is_encrypted: false },
        ...{ file, error: reason, tables_done: 0, tables_total: null, row_count: null, bytes: 0 },
        created_at: expect.any(String),
        started_at: expect.any(String),
        finished_at: expect.any(String),
      },
    ]);
    expect(await examined()).toMatchObject([
      {
        ...{ code: 'backup_failed', what: `The last backup failed: ${reason}.` },
        cure: 'Remove the cause, then run: muster backup FILE',
      },
    ]);
    const { body } = await adminApi(app).get('/credentials');
    const warnings = body.data.attributes.warnings as { code: string; detail: string }[];
    expect(warnings.find(({ code }) => code === 'backup_failed')?.detail).toContain(reason);
    await run(join(home, 'next.backup'));
    expect(brief(await examined())).toEqual(['ok backups']);
  });

  it('that reads no passphrase is recorded as one that was to be encrypted', async () => {
    const passphraseFile = join(home, 'none');
    await expect(run(join(home, 'x.backup'), { passphraseFile })).rejects.toThrow(/none/);
    const error = expect.stringMatching(/none/);
    expect(await shown()).toMatchObject([{ state: 'failed', is_encrypted: true, error }]);
  });

  it('that fails does not delay what BACKUP_EVERY asks for', async () => {
    await expect(run(join(home, 'none', 'x.backup'))).rejects.toThrow(/cannot be written \(ENOENT/);
    const times = { every: 86_400_000, retry: 900_000 };
    expect(await inTransaction(app.db, (trx) => isBackupDue(trx, times))).toBe(true);
    expect(await shown()).toMatchObject([{ state: 'failed' }]);
  });

  it('reports its own failure where that cannot be recorded', async () => {
    await app.db.knex.schema.renameTable('backups', 'elsewhere');
    try {
      await expect(run(join(home, 'none', 'x.backup'))).rejects.toThrow(
        /cannot be written \(ENOENT/,
      );
    } finally {
      await app.db.knex.schema.renameTable('elsewhere', 'backups');
    }
    expect(logged.map(({ msg }) => msg)).toEqual([
      'the failure of the backup could not be recorded',
    ]);
  });
});
