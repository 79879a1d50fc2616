import request from 'supertest';
import type { ResourceDefinition } from '../../../src/jsonapi/definition/definition.js';
import { devices } from '../../../src/resources/devices/devices.js';
import { sampleAttributes } from '../../conformance/samples.js';
import { createTestApi, type TestApi } from '../../jsonapi/test-api.js';

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

type Attributes = Record<string, unknown>;

function create(attributes: Attributes, path = '/devices', app = api.app) {
  return request(app)
    .post(`/api/v1${path}`)
    .send({ data: { type: 'devices', attributes } });
}

async function createId(attributes: Attributes): Promise<number> {
  const { status, body } = await create(attributes);
  expect([status, body.errors]).toEqual([201, undefined]);
  return body.data.id;
}

function patch(id: number, attributes: Attributes, role = 'admin') {
  return request(api.app)
    .patch(`/api/v1/devices/${id}`)
    .set('X-Role', role)
    .send({ data: { type: 'devices', id, attributes } });
}

function pointersOf({ body }: request.Response): string[] {
  return body.errors.map(({ source }: { source: { pointer: string } }) => source.pointer);
}

describe('the facts of an enrolled device', () => {
  const facts = {
    serial_number: 'FACT000001',
    udid: 'AbCd-0001',
    os_version: '17.1',
    languages: [{ b: 1, a: 2 }],
    last_cloud_backup_date: '2026-03-26T23:42:09.123+00:00',
    device_capacity: 63.5,
    passcode_present: true,
    topic: 'com.apple.mgmt.External.1',
    platform: 'iOS',
  };

  it.each<[string, unknown]>([
    ['serial_number', 'FACT000002'],
    ['serial_number', null],
    ['udid', 'ffff'],
    ['enrollment_id', 'new'],
    ['os_version', '17.2'],
    ['languages', []],
    ['last_cloud_backup_date', '2026-03-26T23:42:09.124+00:00'],
    ['device_capacity', 64],
    ['passcode_present', false],
    ['topic', 'com.apple.mgmt.External.2'],
    ['platform', 'macOS'],
    ['imei', '35'],
    ['is_dep', true],
  ])('refuse a change of %s to %j with 422, and nothing is written', async (name, value) => {
    const row = { ...facts, serial_number: `FACT-${name}-${value}`, udid: `udid-${name}-${value}` };
    const id = await createId({ ...row, is_enrolled: true });
    const response = await patch(id, { [name]: value, asset_tag: 'A-1' });
    expect([response.status, pointersOf(response)]).toEqual([422, [`/data/attributes/${name}`]]);
    expect(response.body.errors[0]).toMatchObject({
      code: 'validation_failed',
      detail: `${name} is reported by the device: it can't be changed while the device is enrolled`,
    });
    expect(await api.knex('devices').where({ id }).first()).toMatchObject({ asset_tag: null });
  });

  it('do not include what its enrollment profile grants, which admins alone change', async () => {
    const id = await createId({ serial_number: 'RIGHTS1', access_rights: 8190 });
    expect((await patch(id, { access_rights: 8189 }, 'operator')).status).toBe(200);
    await api.knex('devices').where({ id }).update({ is_enrolled: true });
    const { status, body } = await patch(id, { access_rights: 1 }, 'operator');
    expect([status, body.errors[0]]).toMatchObject([
      403,
      {
        detail: 'changing access_rights of an enrolled device needs the role admin',
        source: { pointer: '/data/attributes/access_rights' },
      },
    ]);
    expect((await patch(id, { access_rights: 8189 }, 'operator')).status).toBe(200);
    expect((await patch(id, { access_rights: 1 })).status).toBe(200);
  });

  it('are listed together when refused', async () => {
    const id = await createId({ serial_number: 'TOGETHER1', is_enrolled: true });
    const response = await patch(id, { model: 'x', serial_number: 'y', asset_tag: 'z' });
    const names = ['model', 'serial_number'];
    expect(pointersOf(response)).toEqual(names.map((name) => `/data/attributes/${name}`));
  });

  it('may be sent back as they were read, with a change of what an admin owns', async () => {
    const attributes = sampleAttributes(devices as ResourceDefinition, 4);
    const id = await createId({ ...attributes, is_enrolled: true, platform: 'iOS' });
    const path = `/api/v1/devices/${id}`;
    const { data } = (await request(api.app).get(path)).body;
    const before = await api.knex('devices').where({ id }).first();
    // What changes all the time has changed since.
    await api.knex('devices').where({ id }).update({ battery_level: 0.1, last_seen: new Date() });
    data.attributes.asset_tag = 'A-2';
    data.attributes.description = 'by the window';
    data.attributes.udid = data.attributes.udid.toUpperCase();
    const response = await request(api.app).patch(path).send({ data });
    expect([response.status, response.body.errors]).toEqual([200, undefined]);
    const changed = { asset_tag: 'A-2', description: 'by the window' };
    const after = await api.knex('devices').where({ id }).first();
    expect(after).toMatchObject({ ...changed, battery_level: 0.1 });
    const same = { battery_level: null, last_seen: null, ...changed };
    expect({ ...after, ...same }).toEqual({ ...before, ...same });
  });

  it('are writable while the device is not enrolled', async () => {
    const id = await createId({ serial_number: 'FREE000001' });
    const response = await patch(id, { serial_number: 'FREE000002', os_version: '17.0' });
    expect(response.status).toBe(200);
    const row = await api.knex('devices').where({ id }).first();
    expect(row).toMatchObject({ serial_number: 'FREE000002', os_version: '17.0' });
  });
});

describe('a new device', () => {
  it.each<[string, Attributes]>([
    ['nothing', {}],
    ['null', { udid: null, serial_number: null }],
    ['empty text', { serial_number: '' }],
    ['other facts', { model: 'Mac15,3', asset_tag: 'A-1' }],
  ])('is refused with 422 where it is known by %s', async (_what, attributes) => {
    const [group] = await api
      .knex('device_groups')
      .insert({ name: `g ${_what}` })
      .returning('id');
    for (const path of ['/devices', `/device_groups/${group.id}/devices`]) {
      const response = await create(attributes, path);
      expect([response.status, pointersOf(response)]).toEqual([422, ['/data/attributes']]);
      expect(response.body.errors[0].detail).toBe(
        'one of udid, enrollment_id, serial_number is required',
      );
    }
  });

  it.each(['udid', 'enrollment_id', 'serial_number'])('may be known by its %s', async (name) => {
    await createId({ [name]: `only ${name}` });
  });

  it.each([
    ['udid', '  '],
    ['enrollment_id', ' E1'],
    ['serial_number', 'C02KL89R1NTQ '],
  ])('is refused with spaces around its %s', async (name, value) => {
    const response = await create({ [name]: value });
    expect(response.status).toBe(422);
    expect(pointersOf(response)).toContain(`/data/attributes/${name}`);
  });

  it('is refused with 409 that names the device which exists', async () => {
    const id = await createId({ udid: 'Exists-1', serial_number: 'EXISTS0001' });
    const other = await createId({ enrollment_id: 'Exists-2' });
    const response = await create({
      udid: 'EXISTS-1',
      enrollment_id: 'exists-2',
      serial_number: 'exists0001',
    });
    expect(response.status).toBe(409);
    expect(response.body.errors).toEqual([
      expect.objectContaining({
        status: '409',
        code: 'already_exists',
        detail: `devices ${id} has this udid already`,
        source: { pointer: '/data/attributes/udid' },
      }),
      expect.objectContaining({
        detail: `devices ${other} has this enrollment_id already`,
        source: { pointer: '/data/attributes/enrollment_id' },
      }),
      expect.objectContaining({
        detail: `devices ${id} has this serial_number already`,
        source: { pointer: '/data/attributes/serial_number' },
      }),
    ]);
  });

  it('is created once, however many ask for it at once', async () => {
    const names = ['a', 'b', 'c', 'd'];
    // In either order, so that locks taken as they come would end in a deadlock.
    const asked = names.flatMap((name, index) => [
      { serial_number: 'RACE000001', udid: `race ${name}` },
      { udid: index % 2 ? 'RACE000001' : `race ${name}`, serial_number: 'race000002' },
    ]);
    const responses = await Promise.all(
      asked.map((attributes, index) =>
        create(attributes, '/devices', index % 2 ? api.other : api.app),
      ),
    );
    const statuses = responses.map(({ status }) => status);
    expect(statuses.filter((status) => status !== 409)).toEqual([201, 201]);
    for (const serial_number of ['RACE000001', 'race000002']) {
      expect(await api.knex('devices').where({ serial_number })).toHaveLength(1);
    }
  });
});
