import { randomUUID } from 'node:crypto';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { capturingLogger } from '../http/log-lines.js';
import { addProfile, reconcilerOf } from './assignment-fixture.js';

const MOST = 20;

let app: TestApp;
let api: ReturnType<typeof adminApi>;
const { logger, lines } = capturingLogger();
let reconciler: ReturnType<typeof reconcilerOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  reconciler = reconcilerOf(app, { logger, maxRemovals: MOST });
});
afterAll(() => app.stop());
afterEach(async () => {
  const tables = ['devices', 'profiles', 'tags', 'device_groups', 'item_losses', 'commands'];
  for (const table of tables) await app.db.knex(table).delete();
  await reconciler.run();
  lines.length = 0;
});

/** A smart group of devices that have a profile. */
async function fixture(count: number, kind = 'smart') {
  const { knex } = app.db;
  const { rows } = await knex.raw<{ rows: { id: number }[] }>(
    `insert into devices (udid, enrollment_state, is_enrolled)
     select gen_random_uuid()::text, 'enrolled', true from generate_series(1, ?::integer)
     returning id`,
    [count],
  );
  const devices = rows.map(({ id }) => id);
  const rule =
    kind === 'smart' ? JSON.stringify([{ name: 'is_lost', op: 'eq', val: false }]) : null;
  const [{ id: group }] = await knex('device_groups').insert(
    { name: randomUUID(), kind, rule },
    'id',
  );
  const members = devices.map((device_id) => ({ device_id, device_group_id: group }));
  await knex.batchInsert('device_group_devices', members, 1_000);
  const { id } = await addProfile(app);
  const [{ id: assignment }] = await knex('assignments').insert(
    { profile_id: id, device_group_id: group },
    'id',
  );
  await reconciler.run();
  await knex('device_items').update({
    ...{ state: 'verified', action: null, command_id: null },
    ...{ installed_uuid: knex.ref('payload_uuid'), acted_at: knex.fn.now() },
  });
  await knex('commands').delete();
  await reconciler.run();
  return { id, group, devices, assignment: Number(assignment) };
}

/** As the evaluation of the rule does. */
async function leave(group: number, devices: readonly number[]): Promise<void> {
  await app.db
    .knex('device_group_devices')
    .where({ device_group_id: group })
    .whereRaw('device_id = any(?::bigint[])', [[...devices]])
    .delete();
}

async function states(): Promise<Record<string, number>> {
  const rows = await app.db
    .knex('device_items')
    .groupBy('state', 'reason_code')
    .select('state', 'reason_code', app.db.knex.raw('count(*)::integer as count'));
  return Object.fromEntries(
    rows.map(({ state, reason_code, count }) => [
      [state, reason_code].filter(Boolean).join(),
      count,
    ]),
  );
}

async function warnings(): Promise<string[]> {
  const { body } = await api.get('/credentials');
  return body.data.attributes.warnings.map(({ code }: { code: string }) => code);
}

describe('devices that leave a smart group', () => {
  it('keep a profile that too many of them would lose at once, until an admin resumes it', async () => {
    const { id, group, devices } = await fixture(100);
    await leave(group, devices.slice(0, 30));
    await reconciler.run();
    expect(await states()).toEqual({ verified: 70, 'paused,mass_removal': 30 });
    expect(lines).toMatchObject([{ level: 40, profileId: id, devices: 30 }]);
    expect(lines[0]?.msg).toMatch(
      new RegExp(`^profile ${id}: 30 devices .* POST /api/v1/profiles/${id}/resume$`),
    );
    expect(await app.db.knex('commands')).toEqual([]);
    expect(await warnings()).toContain('mass_removal');
    expect(await app.db.knex('device_items').where({ state: 'paused' }).first('reason')).toEqual({
      reason:
        'kept: many devices lost it within an hour because of smart groups; correct the rule if they ' +
        `should have it, then POST /api/v1/profiles/${id}/resume`,
    });
    const { status, body } = await api.post(`/profiles/${id}/resume`);
    expect([status, body.data.attributes.removals_paused_at]).toEqual([200, null]);
    await reconciler.run();
    expect(await states()).toEqual({ verified: 70, removing: 30 });
    expect(await app.db.knex('commands').pluck('request_type')).toEqual(
      Array(30).fill('RemoveProfile'),
    );
    expect(await warnings()).not.toContain('mass_removal');
    expect((await api.post(`/profiles/${id}/resume`)).status).toBe(409);
  });

  it.each(['everything', 'the profile', 'the devices'])(
    'keep it also when %s was paused meanwhile, once that is resumed',
    async (what) => {
      const { knex } = app.db;
      const { id, group, devices } = await fixture(100);
      const pauses: Record<string, () => Promise<unknown>> = {
        everything: () => api.post('/reconciler/pause'),
        'the profile': () => api.post(`/profiles/${id}/pause`),
        'the devices': () => knex('device_reconciliations').update({ paused_at: knex.fn.now() }),
      };
      const ends: Record<string, () => Promise<unknown>> = {
        everything: () => api.post('/reconciler/resume'),
        'the profile': () => api.post(`/profiles/${id}/resume`),
        async 'the devices'() {
          await knex('device_reconciliations').update({ paused_at: null });
          await knex('reconcile_marks').insert(devices.map((device_id) => ({ device_id })));
        },
      };
      await pauses[what]?.();
      await leave(group, devices.slice(0, 30));
      await reconciler.run();
      expect(await states()).toEqual({ verified: 70, 'paused,paused': 30 });
      await ends[what]?.();
      await reconciler.run();
      expect(await states()).toEqual({ verified: 70, 'paused,mass_removal': 30 });
      expect(await knex('commands')).toEqual([]);
      expect((await api.post(`/profiles/${id}/resume`)).status).toBe(200);
      await reconciler.run();
      expect(await states()).toEqual({ verified: 70, removing: 30 });
    },
  );

  it('lose it when an admin unassigned it while everything was paused', async () => {
    const { assignment } = await fixture(100);
    await api.post('/reconciler/pause');
    expect((await api.delete(`/assignments/${assignment}?confirm=100`)).status).toBe(204);
    await reconciler.run();
    expect(await states()).toEqual({ 'paused,paused': 100 });
    await api.post('/reconciler/resume');
    await reconciler.run();
    expect(await states()).toEqual({ removing: 100 });
  });

  it('lose it one by one until there are too many within an hour', async () => {
    const { group, devices } = await fixture(100);
    for (const device of devices.slice(0, 25)) {
      await leave(group, [device]);
      await reconciler.run();
    }
    expect(await states()).toEqual({
      verified: 75,
      removing: MOST - 1,
      'paused,mass_removal': 25 - (MOST - 1),
    });
  });

  it('lose it when they are few, or few of those that have it', async () => {
    const few = await fixture(30);
    await leave(few.group, few.devices.slice(0, MOST - 1));
    await reconciler.run();
    expect(await states()).toEqual({ verified: 30 - (MOST - 1), removing: MOST - 1 });
    await app.db.knex('devices').delete();
    const many = await fixture(400);
    await leave(many.group, many.devices.slice(0, 40));
    await reconciler.run();
    expect(await states()).toMatchObject({ verified: 360, removing: 40 });
  });

  it('lose it when the removals from other devices are more than an hour ago', async () => {
    const { group, devices } = await fixture(100);
    await leave(group, devices.slice(0, MOST - 1));
    await reconciler.run();
    await app.db.knex('item_losses').update({ lost_at: new Date(Date.now() - 61 * 60_000) });
    await leave(group, devices.slice(MOST, 2 * MOST - 1));
    await reconciler.run();
    expect(await states()).toEqual({ verified: 62, removing: 38 });
    expect(await app.db.knex('item_losses')).toHaveLength(MOST - 1);
  });

  it('keep it without a command when they join again', async () => {
    const { group, devices } = await fixture(100);
    const gone = devices.slice(0, 50);
    await leave(group, gone);
    await reconciler.run();
    expect(await states()).toMatchObject({ 'paused,mass_removal': 50 });
    const members = gone.map((device_id) => ({ device_id, device_group_id: group }));
    await app.db.knex('device_group_devices').insert(members);
    await reconciler.run();
    expect(await states()).toEqual({ verified: 50, installed: 50 });
    const types = await app.db.knex('commands').distinct().pluck('request_type');
    expect(types).toEqual(['ProfileList']);
  });

  it('keep it when several processes reconcile them together, as a whole slice', async () => {
    const { group, devices } = await fixture(2_500);
    const all = [reconciler, reconcilerOf(app), reconcilerOf(app)];
    await leave(group, devices);
    await Promise.all(all.map((one) => one.run()));
    await reconciler.run();
    const { removing = 0, ...others } = await states();
    // A process can find all but a few of its slice locked: those may be a tenth of all at most.
    expect(removing).toBeLessThanOrEqual(250);
    expect(others).toEqual({ 'paused,mass_removal': 2_500 - removing });
  });
});

describe('the limit of removals because of smart groups counts those', () => {
  it('of devices that join one that is excluded', async () => {
    const { id, devices } = await fixture(100, 'static');
    const { knex } = app.db;
    const rule = JSON.stringify([{ name: 'is_lost', op: 'eq', val: true }]);
    const [{ id: group }] = await knex('device_groups').insert(
      { name: randomUUID(), kind: 'smart', rule },
      'id',
    );
    const excluded = { profile_id: id, device_group_id: group, mode: 'exclude' };
    await knex('assignments').insert(excluded);
    await reconciler.run();
    const members = devices
      .slice(0, 30)
      .map((device_id) => ({ device_id, device_group_id: group }));
    await knex('device_group_devices').insert(members);
    await reconciler.run();
    expect(await states()).toEqual({ verified: 70, 'paused,mass_removal': 30 });
  });

  it('of devices that were marked for another reason before, and of those of a saved profile', async () => {
    const { id, group, devices } = await fixture(100);
    const gone = devices.slice(0, 30);
    const { knex } = app.db;
    await knex('reconcile_item_marks').insert({ profile_id: id });
    const marks = Array.from({ length: 1_000 }, (_, n) => ({ device_id: gone[n % 30] ?? 0 }));
    await knex.batchInsert('reconcile_marks', marks, 1_000);
    await leave(group, gone);
    await reconciler.run();
    expect(await states()).toEqual({ verified: 70, 'paused,mass_removal': 30 });
  });

  it('of devices that wait for another version, or have not answered yet', async () => {
    const { group, devices } = await fixture(100);
    const { knex } = app.db;
    const of = (some: number[]) => knex('device_items').whereIn('device_id', some);
    await of(devices.slice(0, 15)).update({ state: 'pending', reason_code: 'command_failed' });
    const sent = devices.slice(15, 30);
    await of(sent).update({ state: 'pending', action: 'install', installed_uuid: null });
    await knex.raw(
      `with c as (
        insert into commands (uuid, device_id, request_type, payload, sent_at, device_item_id)
        select gen_random_uuid(), device_id, 'InstallProfile', ''::bytea, now(), id
        from device_items where device_id = any(?::bigint[])
        returning id, device_item_id
      )
      update device_items i set command_id = c.id from c where i.id = c.device_item_id`,
      [sent],
    );
    await leave(group, devices.slice(0, 30));
    await reconciler.run();
    expect(await states()).toEqual({ verified: 70, 'paused,mass_removal': 30 });
    await knex('commands').update({ status: 'Acknowledged', acknowledged_at: knex.fn.now() });
    await knex('reconcile_marks').insert(sent.map((device_id) => ({ device_id })));
    await reconciler.run();
    expect(await states()).toEqual({ verified: 70, 'paused,mass_removal': 30 });
  });

  it('of devices that kept it while they joined and left again and again', async () => {
    const { group, devices } = await fixture(100);
    const gone = devices.slice(0, 30);
    const { knex } = app.db;
    const until = new Date(Date.now() + 3_600_000);
    const flaps = gone.map((device_id) => ({ device_id, device_group_id: group, until }));
    await knex('group_flaps').insert(flaps);
    await leave(group, gone);
    await reconciler.run();
    expect(await states()).toEqual({ verified: 70, 'paused,flapping': 30 });
    await knex('group_flaps').delete();
    await reconciler.run();
    expect(await states()).toEqual({ verified: 70, 'paused,mass_removal': 30 });
  });

  it('against the devices that have it, not those that cannot have it', async () => {
    const { group, devices } = await fixture(400);
    const { knex } = app.db;
    await knex('device_items')
      .whereIn('device_id', devices.slice(100))
      .update({ state: 'not_applicable', installed_uuid: null });
    await leave(group, devices.slice(0, 30));
    await reconciler.run();
    expect(await states()).toMatchObject({ verified: 70, 'paused,mass_removal': 30 });
  });
});

describe('a change by an admin', () => {
  it('is carried out at once: a tag or a static group that devices leave, an assignment that ends', async () => {
    const { group, devices } = await fixture(100, 'static');
    await leave(group, devices.slice(0, 60));
    await reconciler.run();
    expect(await states()).toEqual({ verified: 40, removing: 60 });
    await app.db.knex('devices').delete();
    const { assignment } = await fixture(100);
    await app.db.knex('assignments').where({ id: assignment }).delete();
    await reconciler.run();
    expect(await states()).toEqual({ removing: 100 });
  });

  it('is carried out at once when a smart group is deleted', async () => {
    const { group } = await fixture(100);
    expect((await api.delete(`/device_groups/${group}?confirm=100`)).status).toBe(204);
    await reconciler.run();
    expect(await states()).toEqual({ removing: 100 });
  });

  it('waits, too, once a profile is paused', async () => {
    const { id, group, devices } = await fixture(100);
    await leave(group, devices.slice(0, 50));
    await reconciler.run();
    await app.db.knex('assignments').delete();
    await reconciler.run();
    expect(await states()).toEqual({ 'paused,mass_removal': 100 });
    expect((await api.delete(`/profiles/${id}?confirm=100`)).status).toBe(204);
    await reconciler.run();
    expect(await states()).toEqual({ removing: 100 });
  });
});

it('a profile that is paused by an admin is not removed either', async () => {
  const { id, group, devices } = await fixture(10, 'static');
  await api.post(`/profiles/${id}/pause`, {});
  await leave(group, devices.slice(0, 3));
  await reconciler.run();
  expect(await states()).toEqual({ verified: 7, 'paused,paused': 3 });
});

it('a rollout that has halted is among the warnings', async () => {
  const { id } = await addProfile(app);
  await app.db.knex('rollouts').insert({
    ...{ profile_id: id, version: 2, former_version: 1, state: 'halted', reason: '25 failures' },
    ...{ stages: JSON.stringify([{ percent: 100, soak_minutes: 0 }]), halt_at: {} },
  });
  const { body } = await api.get('/credentials');
  expect(body.data.attributes.warnings).toContainEqual({
    code: 'rollout_halted',
    detail: expect.stringMatching(
      new RegExp(`of version 2 of profile ${id} has halted: 25 failures\\. POST /api/v1/rollouts/`),
    ),
  });
});
