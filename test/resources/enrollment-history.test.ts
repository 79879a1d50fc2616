import request from 'supertest';
import { createTestApi, type TestApi } from '../jsonapi/test-api.js';

let api: TestApi;
let deviceId: number;
let otherId: number;

beforeAll(async () => {
  api = await createTestApi();
  const devices = [{ udid: 'KNOWN', serial_number: 'C02KNOWN0001' }, { udid: 'OTHER' }];
  [deviceId = 0, otherId = 0] = (await api.knex('devices').insert(devices).returning('id')).map(
    ({ id }) => id,
  );
});
afterAll(() => api.close());

const get = (path: string, role = 'viewer') =>
  request(api.app).get(`/api/v1${path}`).set('X-Role', role);

const AT = new Date('2026-05-04T03:02:01Z');
const PAST = new Date('2020-01-01T00:00:00Z');
const FUTURE = new Date(Date.now() + 3_600_000);

async function insertFormer(device_id: number, columns: Record<string, unknown>) {
  const row = { device_id, ended_at: AT, ...columns };
  const [{ id }] = await api.knex('former_enrollments').insert(row).returning('id');
  return Number(id);
}

describe('former enrollments', () => {
  it('are the history of a device', async () => {
    const id = await insertFormer(deviceId, {
      enrollment_number: 1,
      enrollment_method: 'ota',
      udid: 'FORMER',
      enrolled_at: PAST,
      serial_number: 'C02KNOWN0001',
      end_reason: 're-enrolled',
    });
    await insertFormer(otherId, { enrollment_number: 1, end_reason: 'checked out' });
    const { body } = await get(`/devices/${deviceId}/former_enrollments`);
    expect(body.data).toEqual([
      {
        type: 'former_enrollments',
        id,
        attributes: {
          enrollment_number: 1,
          enrollment_method: 'ota',
          udid: 'FORMER',
          enrollment_id: null,
          serial_number: 'C02KNOWN0001',
          fingerprint_sha256: null,
          managed_apple_account: null,
          authenticated_at: null,
          enrolled_at: '2020-01-01T00:00:00+00:00',
          ended_at: '2026-05-04T03:02:01+00:00',
          end_reason: 're-enrolled',
        },
        relationships: {
          device: {
            links: {
              self: `/api/v1/former_enrollments/${id}/relationships/device`,
              related: `/api/v1/devices/${deviceId}`,
            },
            data: { type: 'devices', id: deviceId },
          },
        },
        links: { self: `/api/v1/former_enrollments/${id}` },
      },
    ]);
  });

  it('find a device by a UDID that it had', async () => {
    const { body } = await get('/former_enrollments?filter[udid]=former&include=device');
    expect(body.included).toMatchObject([{ type: 'devices', id: deviceId }]);
    const devices = await get('/devices?filter[former_enrollments__udid]=FORMER');
    expect(devices.body.data.map(({ id }: { id: number }) => id)).toEqual([deviceId]);
  });

  it('are read-only', async () => {
    const data = { type: 'former_enrollments', attributes: {} };
    const post = (path: string) => request(api.app).post(`/api/v1${path}`).send({ data });
    expect((await post('/former_enrollments')).status).toBe(405);
    expect((await post(`/devices/${deviceId}/former_enrollments`)).status).toBe(405);
    const id = await insertFormer(deviceId, { enrollment_number: 2, end_reason: 'moved' });
    const item = `/api/v1/former_enrollments/${id}`;
    expect((await request(api.app).delete(item)).status).toBe(405);
    expect((await request(api.app).patch(item).send({ data })).status).toBe(405);
  });
});

describe('enrollment requests', () => {
  beforeAll(async () => {
    const common = { method: 'ota', product_name: 'iPhone17,1', os_version: '26.1' };
    await api.knex('enrollment_requests').insert([
      { ...common, serial_number: 'WAITING', expires_at: FUTURE, nonce: Buffer.from('secret') },
      { ...common, serial_number: 'EXPIRED', expires_at: PAST, signer: Buffer.alloc(32, 7) },
      {
        method: 'automated',
        serial_number: 'ENROLLED',
        expires_at: PAST,
        enrolled_at: AT,
        device_id: deviceId,
        udid: 'KNOWN',
      },
    ]);
  });

  it('are refused to viewers', async () => {
    expect((await get('/enrollment_requests')).status).toBe(403);
    expect((await get(`/devices/${deviceId}/enrollment_requests`)).status).toBe(403);
  });

  it('show who requested the enrollment, and its result', async () => {
    const { body } = await get('/enrollment_requests?sort=serial_number', 'operator');
    const requests = body.data.map(({ attributes }: { attributes: Record<string, unknown> }) => [
      ...[attributes.serial_number, attributes.method, attributes.state],
    ]);
    expect(requests).toEqual([
      ['ENROLLED', 'automated', 'enrolled'],
      ['EXPIRED', 'ota', 'expired'],
      ['WAITING', 'ota', 'waiting'],
    ]);
    expect(new Set(Object.keys(body.data[0].attributes))).toEqual(
      new Set([
        ...['approved_at', 'attempts', 'enrollment_id', 'fingerprint_sha256', 'held_at'],
        'last_attempt_at',
        ...['account', 'build_version', 'created_at', 'enrolled_at', 'expires_at', 'imei'],
        ...['language', 'meid', 'method', 'os_version', 'product_name', 'serial_number'],
        ...['state', 'udid', 'unmet_minimum_os_version'],
      ]),
    );
    expect(JSON.stringify(body)).not.toContain(Buffer.from('secret').toString('base64'));
  });

  it('are listed at their device', async () => {
    const { body } = await get(`/devices/${deviceId}/enrollment_requests`, 'operator');
    expect(body.data).toMatchObject([{ attributes: { serial_number: 'ENROLLED', udid: 'KNOWN' } }]);
  });

  it('are filtered by whether they were completed', async () => {
    const rule = JSON.stringify([{ name: 'enrolled_at', op: 'is_', val: null }]);
    const path = `/enrollment_requests?filter=${encodeURIComponent(rule)}&sort=serial_number`;
    const { body } = await get(path, 'operator');
    const serials = body.data.map((one: { attributes: { serial_number: string } }) => {
      return one.attributes.serial_number;
    });
    expect(serials).toEqual(['EXPIRED', 'WAITING']);
  });

  it('are read-only', async () => {
    const data = { type: 'enrollment_requests', attributes: {} };
    expect((await request(api.app).post('/api/v1/enrollment_requests').send({ data })).status).toBe(
      405,
    );
  });
});
