import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backupsCheck } from '../../../src/doctor/checks/backups.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';
import { brief, examine } from '../doctor-helpers.js';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(async () => {
  await test?.drop();
  removeTemporaryDirectories();
});
beforeEach(() => test.db.knex('backups').delete());

const HOUR_MS = 3_600_000;

async function addBackup(
  state: string,
  hoursAgo: number,
  { error = null, file }: { error?: string | null; file?: string | undefined } = {},
) {
  const at = new Date(Date.now() - hoursAgo * HOUR_MS);
  await test.db.knex('backups').insert({
    ...{ state, error, source: 'schedule', created_by: 'system', is_encrypted: false },
    file: file ?? `/backups/${state}-${hoursAgo}`,
    ...{ created_at: at, started_at: at, finished_at: at },
  });
}

const found = (env: Record<string, string> = {}) =>
  examine({ checks: [backupsCheck], db: test.db, env });

describe('the doctor of the backups', () => {
  it('reports a missing backup, but not of an external database', async () => {
    expect(await found()).toMatchObject([
      { code: 'backup_missing', severity: 'warning', cure: expect.stringContaining('BACKUP_DIR') },
    ]);
    const external = await found({ DATABASE_URL: 'postgres://u:p@db.test/muster' });
    expect(brief(external)).toEqual(['ok backups']);
    expect(external[0]?.what).toContain('by other means');
    const expected = { BACKUP_EVERY: '1d', BACKUP_DIR: '/backups' };
    expect(
      await found({ DATABASE_URL: 'postgres://u:p@db.test/muster', ...expected }),
    ).toMatchObject([
      {
        code: 'backup_missing',
        severity: 'warning',
        cure: expect.stringContaining('See why none'),
      },
    ]);
  });

  it.each<[string | undefined, number, string]>([
    [undefined, 160, 'ok backups'],
    [undefined, 180, 'warning backup_old'],
    ['6h', 12, 'ok backups'],
    ['6h', 14, 'warning backup_old'],
    ['30d', 500, 'ok backups'],
  ])('with BACKUP_EVERY=%s and a backup %i hours old: %s', async (every, hours, expected) => {
    await addBackup('finished', hours);
    const env: Record<string, string> =
      every === undefined ? {} : { BACKUP_EVERY: every, BACKUP_DIR: '/backups' };
    expect(brief(await found(env))).toEqual([expected]);
  });

  it('reports why the last one failed until one succeeds', async () => {
    await addBackup('finished', 5);
    await addBackup('failed', 2, { error: 'no space is left on the disk' });
    expect(await found()).toMatchObject([
      {
        code: 'backup_failed',
        severity: 'error',
        what: 'The last backup failed: no space is left on the disk.',
      },
    ]);
    await addBackup('finished', 1);
    expect(brief(await found())).toEqual(['ok backups']);
  });

  it('does not count a backup whose file was deleted', async () => {
    await addBackup('deleted', 3);
    expect(brief(await found())).toEqual(['warning backup_missing']);
    await addBackup('finished', 1 / 60);
    const [finding] = await found();
    expect(finding?.what).toBe('The newest backup is 1 minute old.');
  });
});

describe('the doctor of the files of backups', () => {
  const stamp = (hoursAgo: number) =>
    new Date(Date.now() - hoursAgo * HOUR_MS).toISOString().replace(/[-:]|\.\d+/g, '');
  const files = (directory: string, hours: number[]) =>
    hours.map((hoursAgo) => {
      const file = join(directory, `muster-${stamp(hoursAgo)}.backup`);
      writeFileSync(file, '');
      return file;
    });

  it('reports a file that is gone before the server has noticed', async () => {
    const directory = temporaryDirectory();
    const [old, newest] = files(directory, [30, 6]);
    await addBackup('finished', 30, { file: old });
    await addBackup('finished', 6, { file: newest });
    const env = { BACKUP_DIR: directory, BACKUP_EVERY: '1d' };
    expect(brief(await found(env))).toEqual(['ok backups']);
    rmSync(String(newest));
    const findings = await found(env);
    expect(brief(findings)).toEqual(['error backup_lost']);
    expect(findings[0]?.what).toBe(`The file of the newest backup is gone: ${newest}.`);
    // Not mounted here: what is in it is unknown.
    rmSync(directory, { recursive: true });
    expect(brief(await found(env))).toEqual(['ok backups']);
  });

  it('reports files too many, and those of a clock that was ahead', async () => {
    const directory = temporaryDirectory();
    const [first, , , ahead] = files(directory, [50, 30, 6, -48]);
    mkdirSync(join(directory, 'muster-20260101T000000Z.backup'));
    await addBackup('finished', 6);
    const env = { BACKUP_DIR: directory, BACKUP_EVERY: '1d', BACKUP_KEEP: '3' };
    const findings = await found(env);
    expect(brief(findings)).toEqual([
      'warning backup_of_the_future',
      'warning backups_not_deleted',
      'ok backups',
    ]);
    expect(findings.map(({ what }) => what)).toEqual([
      `By their names, backups are of the future: ${ahead}.`,
      `${directory} has 4 backups, and BACKUP_KEEP is 3. Too old are: ${first}.`,
      'The newest backup is 6 hours old.',
    ]);
  });
});
