import { adminApi, startApp, type TestApp } from '../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
beforeAll(async () => {
  app = await startApp();
  api = adminApi(app);
});
afterAll(() => app.stop());

/** Milliseconds until the group has as many members. */
async function until(group: number, count: number): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const { body } = await api.get(`/device_groups/${group}/devices`);
    const elapsed = performance.now() - startedAt;
    if (body.meta.total === count) return elapsed;
    if (elapsed > 10_000) throw new Error(`the group has ${body.meta.total} members`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('the members of a smart group', () => {
  it('follow a rule and a fact within seconds, without anything but the server itself', async () => {
    const attributes = { serial_number: 'C02LIVE', os_version: '17.1' };
    const device = await api.post('/devices', { data: { type: 'devices', attributes } });
    const rule = [{ name: 'os_version', op: 'lt', val: '18' }];
    const group = await api.post('/device_groups', {
      data: { type: 'device_groups', attributes: { name: 'live', kind: 'smart', rule } },
    });
    expect(group.status).toBe(201);
    const { id } = group.body.data;
    expect(await until(id, 1)).toBeLessThan(5_000);
    const changed = { type: 'devices', attributes: { os_version: '18.0' } };
    expect((await api.patch(`/devices/${device.body.data.id}`, { data: changed })).status).toBe(
      200,
    );
    expect(await until(id, 0)).toBeLessThan(3_000);
    await app.db.knex('devices').insert({ serial_number: 'C02NEXT', os_version: '17.9' });
    expect(await until(id, 1)).toBeLessThan(3_000);
  });

  it('end with the group', async () => {
    const groups = await api.get('/device_groups');
    for (const { id } of groups.body.data) {
      expect((await api.delete(`/device_groups/${id}`)).status).toBe(204);
    }
    const { knex } = app.db;
    expect(await knex('device_group_devices')).toEqual([]);
    expect(await knex('smart_group_state').pluck('facts')).toEqual([[]]);
  });
});
