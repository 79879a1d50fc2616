import { ADMIN_TOKEN, adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
beforeEach(() => app.db.knex('devices').delete());

type Columns = Record<string, unknown>;

async function addDevice(columns: Columns = {}): Promise<number> {
  const usual = { enrollment_state: 'enrolled', is_enrolled: true, platform: 'iOS' };
  const [{ id }] = await app.db.knex('devices').insert({ ...usual, ...columns }, 'id');
  return Number(id);
}

const BYOD = {
  enrollment_id: 'enrollment-9',
  enrollment_type: 'user',
  enrollment_method: 'account_user',
};
const ADDE = { udid: 'U-9', enrollment_type: 'device', enrollment_method: 'account_device' };

async function queue(id: number, type: string, parameters: object = {}) {
  const { status, body } = await adminApi(app).post(
    '/commands',
    commandDocument(id, type, { parameters }),
  );
  return [status, body.errors?.[0]?.code, body.errors?.[0]?.detail];
}

const queued = () => app.db.knex('commands').pluck('request_type');
const TOKEN = { UnlockToken: Buffer.from('token').toString('base64') };

function reason(id: number, type: string): string {
  return `${type} is not for device ${id}, which is its user's own (user enrollment)`;
}

describe("a person's own device", () => {
  it.each<[string, string, object]>([
    ['iOS', 'EraseDevice', {}],
    ['iOS', 'DeviceLock', {}],
    ['iOS', 'ClearPasscode', TOKEN],
    ['iOS', 'RestartDevice', {}],
    ['iOS', 'ShutDownDevice', {}],
    ['iOS', 'EnableLostMode', { Message: 'lost' }],
    ['iOS', 'RequestUnlockToken', {}],
    ['macOS', 'EraseDevice', {}],
    ['macOS', 'DeviceLock', { PIN: '123456' }],
    ['macOS', 'SetRecoveryLock', { NewPassword: 'long enough' }],
    ['visionOS', 'EraseDevice', {}],
  ])('on %s does not accept %s, and the answer says why', async (platform, type, parameters) => {
    const id = await addDevice({ ...BYOD, platform });
    const refusal = [422, 'forbidden_by_enrollment', reason(id, type)];
    expect(await queue(id, type, parameters)).toEqual(refusal);
    const flat = { request_type: type, parameters };
    const tested = await adminApi(app).post(`/devices/test/${id}`, flat);
    expect([tested.status, tested.body.errors[0].code]).toEqual(refusal.slice(0, 2));
    expect(await queued()).toEqual([]);
  });

  it('does not accept them either while its platform is not known', async () => {
    const id = await addDevice({ ...BYOD, platform: null });
    for (const type of ['EraseDevice', 'RestartDevice']) {
      expect(await queue(id, type)).toEqual([422, 'forbidden_by_enrollment', reason(id, type)]);
    }
    expect((await queue(id, 'ProfileList'))[0]).toBe(201);
  });

  it.each([
    { ...BYOD, enrollment_method: null },
    { ...BYOD, enrollment_type: null },
  ])('is recognized by its EnrollmentID as by its account', async (columns) => {
    expect((await queue(await addDevice(columns), 'EraseDevice'))[1]).toBe(
      'forbidden_by_enrollment',
    );
  });

  it('keeps its passcode, whatever was escrowed', async () => {
    const id = await addDevice(BYOD);
    const reply = await fetch(`${app.url}/api/v1/devices/${id}/clear_passcode`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    const { errors } = (await reply.json()) as { errors: { code: string; detail: string }[] };
    expect([reply.status, errors[0]?.code, errors[0]?.detail]).toEqual([
      422,
      'forbidden_by_enrollment',
      reason(id, 'ClearPasscode'),
    ]);
    expect(await queued()).toEqual([]);
  });

  it('gets no such command moved from another device', async () => {
    const [other, own] = [await addDevice(ADDE), await addDevice(BYOD)];
    expect((await queue(other, 'EraseDevice'))[0]).toBe(201);
    const [{ id }] = await app.db.knex('commands').select('id');
    const link = { data: [{ type: 'commands', id }] };
    const moved = await adminApi(app).post(`/devices/${own}/relationships/commands`, link);
    expect([moved.status, moved.body.errors[0].code]).toEqual([422, 'forbidden_by_enrollment']);
    expect(await app.db.knex('commands').pluck('device_id')).toEqual([other]);
  });

  it('is renamed by its user alone', async () => {
    const id = await addDevice({ ...BYOD, device_name: 'Mine' });
    const attributes = { device_name: 'Theirs' };
    const data = { type: 'devices', id, attributes };
    const { status, body } = await adminApi(app).patch(`/devices/${id}`, { data });
    expect([status, body.errors[0].code, body.errors[0].source]).toEqual([
      422,
      'forbidden_by_enrollment',
      { pointer: '/data/attributes/device_name' },
    ]);
    expect(await queued()).toEqual([]);
  });

  it.each<[string, string[]]>([
    ['iOS', ['DeviceInformation', 'InstalledApplicationList', 'CertificateList', 'SecurityInfo']],
    ['macOS', ['DeviceInformation', 'CertificateList', 'SecurityInfo']],
  ])('on %s is asked only what it answers', async (platform, types) => {
    const id = await addDevice({ ...BYOD, platform, os_version: '18.0' });
    const reply = await adminApi(app).post(`/devices/inventory/${id}`);
    expect(reply.status).toBe(201);
    const data: { attributes: { parameters: { Queries?: string[] } } }[] = reply.body.data;
    expect(await queued()).toEqual([...types, 'ProfileList']);
    const queries = data[0]?.attributes.parameters.Queries ?? [];
    expect(queries).toEqual(expect.arrayContaining(['OSVersion', 'ModelName']));
    for (const secret of ['SerialNumber', 'UDID', 'IMEI', 'WiFiMAC']) {
      expect(queries).not.toContain(secret);
    }
  });
});

describe('a device of the organization', () => {
  it.each([
    ADDE,
    { ...ADDE, enrollment_method: 'automated' },
    { ...ADDE, enrollment_method: null },
  ])('is erased, locked and restarted as usual: %o', async (columns) => {
    const id = await addDevice(columns);
    for (const type of ['EraseDevice', 'DeviceLock', 'RestartDevice']) {
      expect((await queue(id, type))[0]).toBe(201);
    }
    expect((await queue(id, 'ClearPasscode', TOKEN))[0]).toBe(201);
  });
});
