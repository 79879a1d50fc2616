import { adminApi, startApp, type TestApp } from '../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
});
afterAll(() => app.stop());

type Rule = object[];

function document(name: string, rule: unknown, kind = 'smart') {
  return { data: { type: 'device_groups', attributes: { name, kind, rule } } };
}

async function create(name: string, rule: Rule): Promise<number> {
  const { status, body } = await api.post('/device_groups', document(name, rule));
  expect([status, body.errors]).toEqual([201, undefined]);
  return body.data.id;
}

describe('members of a smart group', () => {
  let group: number;
  let byHand: number;
  let device: number;
  beforeAll(async () => {
    group = await create('no hands', [{ name: 'model', op: 'eq', val: 'x' }]);
    byHand = (await api.post('/device_groups', document('hands', null, 'static'))).body.data.id;
    const made = await api.post('/devices', {
      data: { type: 'devices', attributes: { serial_number: 'C02MEMBER' } },
    });
    device = made.body.data.id;
    await app.db.knex('device_group_devices').insert({ device_group_id: group, device_id: device });
  });

  const groups = (...ids: number[]) => ids.map((id) => ({ type: 'device_groups', id }));
  const devices = (...ids: number[]) => ids.map((id) => ({ type: 'devices', id }));
  const newDevice = (relationships?: object) => ({
    data: { type: 'devices', attributes: { serial_number: `NEW-${Math.random()}` }, relationships },
  });

  it.each([
    [
      'POST to the device',
      () => api.post(`/devices/${device}/relationships/device_groups`, { data: groups(group) }),
      true,
    ],
    [
      'DELETE from the device',
      () =>
        api.delete(`/devices/${device}/relationships/device_groups`).send({ data: groups(group) }),
    ],
    [
      'PATCH of the groups of the device',
      () => api.patch(`/devices/${device}/relationships/device_groups`, { data: [] }),
    ],
    [
      'a document of the device',
      () =>
        api.patch(`/devices/${device}`, {
          data: { type: 'devices', relationships: { device_groups: { data: groups(byHand) } } },
        }),
    ],
    [
      'a document of a new device',
      () => api.post('/devices', newDevice({ device_groups: { data: groups(group) } })),
    ],
    [
      'a device made below the group',
      () => api.post(`/device_groups/${group}/devices`, newDevice()),
    ],
    [
      'DELETE from the group',
      () =>
        api.delete(`/device_groups/${group}/relationships/devices`).send({ data: devices(device) }),
    ],
    [
      'PATCH of the devices of the group',
      () => api.patch(`/device_groups/${group}/relationships/devices`, { data: [] }),
    ],
    [
      'a document of the group',
      () =>
        api.patch(`/device_groups/${group}`, {
          data: { type: 'device_groups', relationships: { devices: { data: [] } } },
        }),
    ],
    [
      'a smart group made below a device',
      () =>
        api.post(
          `/devices/${device}/device_groups`,
          document('below', [{ name: 'model', op: 'eq', val: 'x' }]),
        ),
    ],
    [
      'a document of a new group',
      () => {
        const { data } = document('new with devices', [{ name: 'model', op: 'eq', val: 'x' }]);
        return api.post('/device_groups', {
          data: { ...data, relationships: { devices: { data: devices(device) } } },
        });
      },
    ],
    [
      'an enrollment link',
      () =>
        api.post('/enrollment_links', {
          data: {
            type: 'enrollment_links',
            attributes: { name: 'link' },
            relationships: { device_group: { data: groups(group)[0] } },
          },
        }),
    ],
  ])('cannot be written by %s', async (_how, send, isNoChange = false) => {
    const before = await app.db.knex('device_group_devices').orderBy('device_group_id');
    const { status, body } = await send();
    if (isNoChange) {
      expect(status).toBe(200);
    } else {
      expect([status, body.errors[0].code]).toEqual([409, 'conflict']);
      expect(body.errors[0].detail).toContain('Change the rule by PATCH /api/v1/device_groups/');
    }
    expect(await app.db.knex('device_group_devices').orderBy('device_group_id')).toEqual(before);
  });

  it('are kept when the groups of a device are sent back with another static one', async () => {
    const relationships = { device_groups: { data: groups(group, byHand) } };
    const { status } = await api.patch(`/devices/${device}`, {
      data: { type: 'devices', relationships },
    });
    expect(status).toBe(200);
    const link = await api.post('/enrollment_links', {
      data: { type: 'enrollment_links', attributes: { name: 'link' } },
    });
    const changed = await api.patch(`/enrollment_links/${link.body.data.id}`, {
      data: {
        type: 'enrollment_links',
        relationships: { device_group: { data: groups(group)[0] } },
      },
    });
    expect([changed.status, changed.body.errors[0].code]).toEqual([409, 'conflict']);
  });

  it.each(['unknown_devices', 'flapping_devices'])(
    'have %s that no client creates',
    async (name) => {
      const { status } = await api.post(`/device_groups/${group}/${name}`, newDevice());
      expect(status).toBe(405);
      const linked = await api.post(`/device_groups/${group}/relationships/${name}`, {
        data: devices(device),
      });
      expect(linked.status).toBe(405);
    },
  );
});
