import { createHash } from 'node:crypto';
import request from 'supertest';
import { insertToken } from '../../../src/db/admin/token-repository.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;

beforeAll(async () => {
  // Nothing here runs jobs, so they stay as the tests make them.
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
});
afterEach(() => app.db.knex.raw('delete from graphile_worker._private_jobs'));
afterAll(() => app.stop());

/** A job as it would lie there with these columns. */
async function job(columns: Record<string, unknown> = {}): Promise<number> {
  const { knex } = app.db;
  await inTransaction(app.db, (trx) => {
    return createJobQueue().add(trx, { name: 'test.task' }, { secret: 'payload' });
  });
  const id = Number((await knex('jobs').max('id as id').first())?.id);
  if (Object.keys(columns).length > 0) {
    await knex('graphile_worker._private_jobs').where({ id }).update(columns);
  }
  return id;
}

const FAILED = { attempts: 25, last_error: 'the reason', run_at: '2036-01-02T03:04:05.678Z' };
const RUNNING = { attempts: 1, locked_at: new Date(), locked_by: 'pool-1' };

async function auditLines(id: number) {
  return await app.db
    .knex('audit_events')
    .where({ target_type: 'jobs', target_id: String(id) })
    .orderBy('id')
    .select('action', 'outcome', 'actor');
}

async function tokenOf(role: 'viewer' | 'operator'): Promise<string> {
  const token = `token-of-the-${role}-${Math.random()}`;
  const tokenHash = createHash('sha256').update(token).digest();
  await inTransaction(app.db, (trx) => {
    return insertToken(trx, { name: role, role, tokenHash, expiresAt: null });
  });
  return token;
}

describe('POST /jobs/{id}/retry', () => {
  it.each([
    ['unknown', '/jobs/999999/retry'],
    ['no number', '/jobs/abc/retry'],
    ['beyond all numbers', '/jobs/99999999999999999999/retry'],
  ])('answers 404 for an id that is %s', async (_what, path) => {
    const response = await api.post(path);
    expect([response.status, response.body.errors[0].code]).toEqual([404, 'not_found']);
  });

  it('refuses a job that is running with 409, and leaves it and the audit as they are', async () => {
    const id = await job(RUNNING);
    const response = await api.post(`/jobs/${id}/retry`);
    expect([response.status, response.body.errors[0].code]).toEqual([409, 'job_running']);
    expect(await app.db.knex('jobs').where({ id }).first()).toMatchObject({
      attempts: 1,
      worker: 'pool-1',
    });
    expect(await auditLines(id)).toEqual([]);
  });

  it('needs the role operator', async () => {
    const id = await job(FAILED);
    const viewer = await adminApi(app, await tokenOf('viewer')).post(`/jobs/${id}/retry`);
    expect([viewer.status, viewer.body.errors[0].code]).toEqual([403, 'forbidden']);
    const operator = await adminApi(app, await tokenOf('operator')).post(`/jobs/${id}/retry`);
    expect(operator.status).toBe(200);
  });

  it('takes no parameters', async () => {
    const id = await job(FAILED);
    expect((await api.post(`/jobs/${id}/retry?force=true`)).status).toBe(400);
  });

  it('makes a dead job due with all its attempts, answers with it and audits it', async () => {
    const id = await job(FAILED);
    const before = Date.now();
    const { status, body } = await api.post(`/jobs/${id}/retry`);
    expect([status, body.data.id, body.data.type]).toEqual([200, id, 'jobs']);
    expect(body.data.attributes).toMatchObject({
      status: 'waiting',
      attempts: 0,
      max_attempts: 25,
      last_error: 'the reason',
    });
    expect(Math.abs(Date.parse(body.data.attributes.run_at) - before)).toBeLessThan(5_000);
    expect(await auditLines(id)).toEqual([
      { action: 'jobs.retry', outcome: 'success', actor: 'ADMIN_TOKEN' },
    ]);
  });

  it('runs once however often a request with one Idempotency-Key comes', async () => {
    const id = await job(FAILED);
    const send = () =>
      request(app.app)
        .post(`/api/v1/jobs/${id}/retry`)
        .set('Authorization', `Bearer ${ADMIN_TOKEN}`)
        .set('Idempotency-Key', 'once');
    const first = await send();
    await app.db.knex('graphile_worker._private_jobs').where({ id }).update(FAILED);
    const second = await send();
    expect([first.status, second.status, second.body]).toEqual([200, 200, first.body]);
    expect(await app.db.knex('jobs').where({ id }).first()).toMatchObject({ status: 'dead' });
    expect(await auditLines(id)).toHaveLength(1);
  });
});

describe('DELETE /jobs/{id}', () => {
  it('answers 404 for an unknown id and 409 for a job that is running', async () => {
    const unknown = await api.delete('/jobs/999999');
    expect([unknown.status, unknown.body.errors[0].code]).toEqual([404, 'not_found']);
    const id = await job(RUNNING);
    const running = await api.delete(`/jobs/${id}`);
    expect([running.status, running.body.errors[0].code]).toEqual([409, 'job_running']);
    expect(await app.db.knex('jobs').where({ id })).toHaveLength(1);
  });

  it('needs the role admin', async () => {
    const id = await job(FAILED);
    const response = await adminApi(app, await tokenOf('operator')).delete(`/jobs/${id}`);
    expect(response.status).toBe(403);
  });

  it('removes the job and audits it', async () => {
    const id = await job(FAILED);
    const response = await api.delete(`/jobs/${id}`);
    expect([response.status, response.text]).toEqual([204, '']);
    expect(await app.db.knex('jobs').where({ id })).toEqual([]);
    expect(await auditLines(id)).toMatchObject([{ action: 'jobs.delete', outcome: 'success' }]);
  });
});

describe('GET /jobs', () => {
  it('shows everything of a job but its payload, to a viewer too', async () => {
    const id = await job(FAILED);
    const { status, body, text } = await adminApi(app, await tokenOf('viewer')).get(`/jobs/${id}`);
    expect(status).toBe(200);
    expect(body.data.attributes).toEqual({
      task: 'test.task',
      status: 'dead',
      attempts: 25,
      max_attempts: 25,
      priority: 0,
      last_error: 'the reason',
      run_at: '2036-01-02T03:04:05.678+00:00',
      created_at: body.data.attributes.created_at,
      locked_at: null,
      key: null,
      worker: null,
    });
    expect(text).not.toContain('payload');
  });

  it('filters by status and sorts by the time of the next attempt', async () => {
    const later = await job({ ...FAILED, run_at: '2037-01-01T00:00:00Z' });
    const sooner = await job(FAILED);
    await job();
    const { status, body } = await api.get('/jobs?filter[status]=dead&sort=run_at');
    expect([status, body.data.map(({ id }: { id: number }) => id)]).toEqual([200, [sooner, later]]);
  });

  it('neither creates nor changes jobs', async () => {
    const id = await job();
    const data = { type: 'jobs', attributes: { task: 'x' } };
    expect((await api.post('/jobs', { data })).status).toBe(405);
    expect((await api.patch(`/jobs/${id}`, { data: { ...data, id } })).status).toBe(405);
  });
});
