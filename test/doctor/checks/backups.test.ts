import { backupsCheck } from '../../../src/doctor/checks/backups.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { brief, examine } from '../doctor-helpers.js';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(() => test.db.knex('backups').delete());

const HOUR_MS = 3_600_000;

async function addBackup(state: string, hoursAgo: number, error: string | null = null) {
  const at = new Date(Date.now() - hoursAgo * HOUR_MS);
  await test.db.knex('backups').insert({
    ...{ state, error, source: 'schedule', created_by: 'system', is_encrypted: false },
    ...{ file: `/backups/${state}-${hoursAgo}`, created_at: at, started_at: at, finished_at: at },
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
    await addBackup('failed', 2, 'no space is left on the disk');
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

  it('counts a backup whose file was deleted for newer ones', async () => {
    await addBackup('deleted', 3);
    const [finding] = await found();
    expect([finding?.code, finding?.what]).toEqual([
      'backups',
      'The newest backup is 3 hours old.',
    ]);
  });
});
