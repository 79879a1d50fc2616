import { randomUUID } from 'node:crypto';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

const STATES = [
  ...['pending', 'installed', 'verified', 'failed', 'removing', 'not_applicable', 'conflict'],
  ...['waiting_for_user', 'paused'],
];

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

async function addItems(count: number): Promise<void> {
  const { knex } = app.db;
  const [device] = await knex('devices').insert({ udid: randomUUID() }, 'id');
  const file = { identifier: 'org.example.item', uuid: 'x', version: 1 };
  const [profile] = await knex('profiles').insert(
    { ...file, holds_secrets: false, is_signed: false },
    'id',
  );
  const item = { device_id: device.id, identifier: 'org.example.item', enrollment_number: 0 };
  for (let n = 0; n < count; n += 1) {
    for (const state of STATES) {
      const profile_id = n % 2 === 0 ? profile.id : profile.id + 1;
      const row = { ...item, item_key: `profile:${state}.${n}`, profile_id, state };
      await knex('device_items').insert(row);
    }
  }
  const pending = await knex('device_items').where({ state: 'pending' }).orderBy('id').limit(4);
  const statuses = [
    { status: 'Sent', sent_at: new Date() },
    { status: 'Queued', sent_at: null },
    { status: 'Acknowledged', sent_at: new Date() },
    { status: 'NotNow', sent_at: new Date() },
  ];
  for (const [index, { id }] of pending.entries()) {
    const command = { device_id: device.id, uuid: randomUUID(), request_type: 'InstallProfile' };
    const values = { ...command, ...statuses[index], payload: Buffer.from('x') };
    const [queued] = await knex('commands').insert(values, 'id');
    await knex('device_items').where({ id }).update({ command_id: queued.id });
  }
}

async function list(query: string) {
  const { status, body } = await adminApi(app).get(`/device_items?page[size]=100&${query}`);
  expect([status, body.errors]).toEqual([200, undefined]);
  return { data: body.data, total: body.meta.total };
}

describe('items of devices', () => {
  it('are the same by each state, whether it is asked for alone or among others', async () => {
    await addItems(6);
    for (const state of [...STATES, 'sent']) {
      const alone = await list(`filter[state]=${state}`);
      const filter = [{ name: 'state', op: 'in', val: [state] }];
      const among = await list(`filter=${encodeURIComponent(JSON.stringify(filter))}`);
      expect([state, alone]).toEqual([state, among]);
      const count = { pending: 4, sent: 2 }[state] ?? 6;
      expect([state, alone.total, alone.data.length]).toEqual([state, count, count]);
      const shown = alone.data.map(
        ({ attributes }: { attributes: { state: string } }) => attributes.state,
      );
      expect(new Set(shown)).toEqual(new Set([state]));
    }
    expect((await list('')).total).toBe(6 * STATES.length);
  });

  it('are sampled with the same columns and states', async () => {
    const { knex } = app.db;
    const columns = (table: string) =>
      knex('information_schema.columns')
        .where({ table_name: table })
        .orderBy('column_name')
        .select('column_name', 'data_type');
    const expected = await columns('device_item_states');
    for (const view of ['device_item_sample', 'settled_device_items', 'unsent_device_items']) {
      expect([view, await columns(view)]).toEqual([view, expected]);
    }
    // A copy of the view that samples every page.
    const { rows } = await knex.raw(`select pg_get_viewdef('device_item_sample') as text`);
    const whole = rows[0].text.replace(/TABLESAMPLE system \(1\)/i, 'TABLESAMPLE system (100)');
    expect(whole).not.toBe(rows[0].text);
    const sampled = await knex.raw(`select * from (${whole.replace(/;\s*$/, '')}) s order by id`);
    const all = await knex('device_item_states')
      .orderBy('id')
      .select(sampled.fields.map(({ name }: { name: string }) => name));
    expect(sampled.rows).toEqual(all);
  });
});
