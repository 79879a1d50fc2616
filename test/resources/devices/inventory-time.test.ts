import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

const ENROLLED_AT = '2026-01-02T03:04:05.678+00:00';
const QUEUED_AT = '2026-03-04T05:06:07.890+00:00';

let app: TestApp;
let api: ReturnType<typeof adminApi>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
});
afterAll(() => app.stop());
beforeEach(() => app.db.knex('devices').delete());

/** One that is enrolled, whose inventory was queued, and one that is not. */
async function addDevices(): Promise<[number, number]> {
  const rows = [
    { serial_number: 'INVENTORY1', is_enrolled: true, enrolled_at: ENROLLED_AT },
    { serial_number: 'INVENTORY2' },
  ];
  const [one, other] = await app.db.knex('devices').insert(rows, 'id');
  await app.db.knex('device_inventories').update({ queued_at: QUEUED_AT });
  return [one.id, other.id];
}

const create = (attributes: object, query = '') =>
  api.post(`/devices${query}`, { data: { type: 'devices', attributes } });

describe('inventory_queued_at of a device', () => {
  it('is in its own document, and null while it is not enrolled', async () => {
    const [enrolled, listed] = await addDevices();
    const times = [enrolled, listed].map(async (id) => {
      const { body } = await api.get(`/devices/${id}`);
      return body.data.attributes.inventory_queued_at;
    });
    expect(await Promise.all(times)).toEqual([QUEUED_AT, null]);
  });

  it('is in lists and files where fields names it, and only then', async () => {
    await addDevices();
    const named = '/devices?fields[devices]=serial_number,inventory_queued_at&sort=serial_number';
    const { body } = await api.get(named);
    expect(body.data.map(({ attributes }: { attributes: object }) => attributes)).toEqual([
      { serial_number: 'INVENTORY1', inventory_queued_at: QUEUED_AT },
      { serial_number: 'INVENTORY2', inventory_queued_at: null },
    ]);
    const csv = await api.get(named).set('Accept', 'text/csv');
    expect(csv.text).toContain(`,INVENTORY1,${QUEUED_AT}\r\n`);
    const list = await api.get('/devices');
    expect(list.body.data[0].attributes).not.toHaveProperty('inventory_queued_at');
  });

  it('cannot be filtered, sorted by, or written', async () => {
    expect((await api.get('/devices?sort=inventory_queued_at')).status).toBe(400);
    expect((await api.get('/devices?filter[inventory_queued_at]=null')).status).toBe(400);
    const { status, body } = await create({ udid: 'WRITTEN', inventory_queued_at: QUEUED_AT });
    expect([status, body.data.attributes.inventory_queued_at]).toEqual([201, null]);
    const path = `/devices/${body.data.id}`;
    const data = {
      type: 'devices',
      id: body.data.id,
      attributes: { inventory_queued_at: QUEUED_AT },
    };
    const patched = await api.patch(path, { data });
    expect([patched.status, patched.body.data.attributes.inventory_queued_at]).toEqual([200, null]);
  });

  it('is when it enrolled for a device that is created as enrolled', async () => {
    const { status, body } = await create({
      ...{ udid: 'ENROLLED', is_enrolled: true, enrolled_at: ENROLLED_AT },
    });
    expect([status, body.data.attributes.inventory_queued_at]).toEqual([201, ENROLLED_AT]);
  });

  it('does not change the state that If-Match compares', async () => {
    const [id] = await addDevices();
    const { headers } = await api.get(`/devices/${id}`);
    await app.db.knex('device_inventories').update({ queued_at: ENROLLED_AT });
    const patched = await api
      .patch(`/devices/${id}`, { data: { type: 'devices', id, attributes: { asset_tag: 'A-1' } } })
      .set('If-Match', String(headers.etag));
    expect(patched.status).toBe(200);
  });
});
