import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { addProfile } from './assignment-fixture.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
beforeAll(async () => {
  app = await startApp();
  api = adminApi(app);
});
afterAll(() => app.stop());

async function until(isDone: () => Promise<boolean>): Promise<void> {
  const startedAt = performance.now();
  while (!(await isDone())) {
    if (performance.now() - startedAt > 15_000) throw new Error('not within 15 seconds');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** How many items have the state. */
async function count(state: string, reason_code: string | null = null): Promise<number> {
  return (await app.db.knex('device_items').where({ state, reason_code })).length;
}

/** 60 devices of an old system that have a profile through a rule. */
async function fleet(): Promise<{ id: number; devices: number[] }> {
  const { knex } = app.db;
  const { rows } = await knex.raw<{ rows: { id: number }[] }>(
    `insert into devices (udid, enrollment_state, is_enrolled, os_version)
     select gen_random_uuid()::text, 'enrolled', true, '17.1' from generate_series(1, 60)
     returning id`,
  );
  const rule = [{ name: 'os_version', op: 'lt', val: '18' }];
  const attributes = { name: 'old systems', kind: 'smart', rule };
  const group = await api.post('/device_groups', { data: { type: 'device_groups', attributes } });
  const group_id = Number(group.body.data.id);
  const members = () => knex('device_group_devices').where({ device_group_id: group_id });
  await until(async () => (await members()).length === 60);
  const { id } = await addProfile(app);
  await knex('assignments').insert({ profile_id: id, device_group_id: group_id });
  await until(
    async () => (await knex('commands').where('request_type', 'InstallProfile')).length === 60,
  );
  await knex('device_items').update({
    ...{ state: 'verified', action: null, command_id: null },
    ...{ installed_uuid: knex.ref('payload_uuid'), acted_at: knex.fn.now() },
  });
  await knex('commands').delete();
  return { id, devices: rows.map((row) => row.id) };
}

it('devices that are updated keep the profile for the old system, until an admin resumes it', async () => {
  const { id, devices } = await fleet();
  const { knex } = app.db;
  await knex('devices').whereIn('id', devices.slice(0, 30)).update({ os_version: '18.0' });
  await until(async () => (await count('paused', 'mass_removal')) === 30);
  expect(await knex('commands').pluck('request_type')).not.toContain('RemoveProfile');
  const { body } = await api.get('/credentials');
  expect(body.data.attributes.warnings).toContainEqual({
    code: 'mass_removal',
    detail: expect.stringContaining(`/api/v1/profiles/${id}/resume`),
  });
  const list = `/profiles/${id}/devices?filter[reason_code]=mass_removal`;
  expect((await api.get(list)).body.meta.total).toBe(30);
  const { body: status } = await api.get(`/profiles/${id}/status`);
  expect(JSON.stringify(status)).toContain('mass_removal');
  await knex('devices').whereIn('id', devices.slice(0, 5)).update({ os_version: '17.9' });
  await until(async () => (await count('installed')) === 5);
  expect((await api.post(`/profiles/${id}/resume`)).status).toBe(200);
  await until(async () => (await count('removing')) === 25);
});

it('an admin may resume a profile while a slice is about to pause it', async () => {
  const { knex } = app.db;
  const { id } = await addProfile(app);
  await knex('profiles').where({ id }).update({ removals_paused_at: knex.fn.now() });
  let resumed: Promise<{ status: number }> | undefined;
  const isWaiting = async () => {
    const { rows } = await knex.raw(
      `select from pg_locks where relation = 'item_losses'::regclass and not granted`,
    );
    return rows.length > 0;
  };
  await inTransaction(app.db, async (trx) => {
    await trx.raw('lock table item_losses in share row exclusive mode');
    resumed = api.post(`/profiles/${id}/resume`);
    resumed.catch(() => undefined);
    await until(isWaiting);
    await trx('profiles').where({ id }).update({ removals_paused_at: trx.fn.now() });
  });
  expect((await resumed)?.status).toBe(200);
  expect(await knex('profiles').where({ id }).first('removals_paused_at')).toEqual({
    removals_paused_at: null,
  });
});
