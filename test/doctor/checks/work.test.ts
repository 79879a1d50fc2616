import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { credentialsCheck } from '../../../src/doctor/checks/credentials.js';
import { jobsCheck, processesCheck } from '../../../src/doctor/checks/jobs.js';
import { createJobQueue, JobService } from '../../../src/jobs/job-queue.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { brief, examine } from '../doctor-helpers.js';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

async function job(name: string, columns: object): Promise<number> {
  await inTransaction(test.db, (trx) => createJobQueue().add(trx, { name }, {}));
  const id = Number((await test.db.knex('jobs').max('id as id').first())?.id);
  await test.db.knex('graphile_worker._private_jobs').where({ id }).update(columns);
  return id;
}

describe('the doctor of the jobs', () => {
  const jobs = () => examine({ checks: [jobsCheck], db: test.db });
  const retry = (id: number) => inTransaction(test.db, (trx) => new JobService().retry(trx, id));

  it('reports jobs that failed for good until they are retried', async () => {
    const DEAD = { attempts: 25, run_at: '2036-01-01' };
    const ids = [
      await job('dep.sync', { ...DEAD, last_error: 'no such account' }),
      await job('dep.sync', { ...DEAD, last_error: 'the token has expired' }),
      await job('push.rearm', { ...DEAD, last_error: 'gone' }),
    ];
    expect(await jobs()).toMatchObject([
      {
        ...{ check: 'jobs', code: 'jobs_dead', severity: 'warning' },
        what: '3 jobs have failed for good: dep.sync (2), push.rearm (1). The last error: the token has expired',
      },
    ]);
    for (const id of ids) await retry(id);
    expect(brief(await jobs())).toEqual(['ok jobs']);
    await test.db.knex.raw('delete from graphile_worker._private_jobs');
  });

  it('reports jobs that no process runs, the more severe the longer they wait', async () => {
    const ago = (seconds: number) => ({ run_at: new Date(Date.now() - seconds * 1000) });
    const id = await job('dep.sync', ago(120));
    const [late] = await jobs();
    expect([late?.severity, late?.what]).toEqual([
      'warning',
      expect.stringMatching(/^1 job is late, the first by 12\d s\.$/),
    ]);
    await test.db.knex('graphile_worker._private_jobs').where({ id }).update(ago(3600));
    expect(brief(await jobs())).toEqual(['error jobs_late']);
    await test.db.knex.raw('delete from graphile_worker._private_jobs');
    expect(brief(await jobs())).toEqual(['ok jobs']);
  });
});

describe('the doctor of the processes', () => {
  const processes = () => examine({ checks: [processesCheck], db: test.db });
  const add = (id: string, version: string) =>
    test.db.knex('server_processes').insert({ id, version, role: 'all', hostname: 'h', pid: 1 });

  it('reports that no process runs, and that processes have different versions', async () => {
    expect(brief(await processes())).toEqual(['warning server_not_running']);
    await add('one', '0.1.0');
    expect(await processes()).toMatchObject([{ what: 'Running: 1 × 0.1.0 (all).' }]);
    await add('two', '0.2.0');
    expect(await processes()).toMatchObject([
      {
        code: 'versions_differ',
        what: 'Processes of several versions run: 1 × 0.1.0 (all), 1 × 0.2.0 (all).',
      },
    ]);
    await test.db.knex('server_processes').where({ id: 'one' }).delete();
    expect(brief(await processes())).toEqual(['ok processes']);
  });
});

describe('the doctor of the credentials', () => {
  it('leaves the warnings about backups to the check of backups', async () => {
    const warnings = [{ code: 'backup_failed', detail: 'The last backup failed.' }];
    const credentials = async () => ({ credentials: [], warnings });
    const found = await examine({ checks: [credentialsCheck], db: test.db, credentials });
    expect(brief(found)).toEqual(['ok credentials']);
  });

  it.each([
    ['no_push_certificate', 'error'],
    ['push_certificate_expired', 'error'],
    ['push_certificate_expiring', 'warning'],
    ['topic_mismatch', 'error'],
    ['certificate_authority_expiring', 'warning'],
    ['certificate_authority_expired', 'error'],
    ['ssl_certificate_expiring', 'warning'],
    ['https_without_certificate', 'error'],
    ['tls_certificate_other_host', 'error'],
    ['dep_token_expired', 'error'],
    ['dep_token_expiring', 'warning'],
    ['dep_account_terms_not_signed', 'error'],
    ['dep_account_not_synced', 'warning'],
    ['identities_expiring', 'warning'],
    ['enrollment_open', 'warning'],
    ['a_warning_of_tomorrow', 'warning'],
  ])('reports the warning %s with the severity %s', async (code, severity) => {
    const detail = 'What is wrong. What to do.';
    const credentials = async () => ({ credentials: [], warnings: [{ code, detail }] });
    const [finding] = await examine({ checks: [credentialsCheck], db: test.db, credentials });
    expect(finding).toEqual({
      ...{ check: 'credentials', code, severity, what: detail },
      ...{ why: expect.any(String), cure: expect.any(String) },
    });
  });
});
