import type request from 'supertest';
import { createToken } from '../../../src/auth/api-tokens.js';
import type { Role } from '../../../src/jsonapi/context.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../../helpers/app.js';
import {
  createTestDevice,
  deviceKeys,
  issueIdentity,
  type TestDevice,
} from '../../helpers/device.js';
import { dumpRows, spellingsOf } from '../../mdm/rows.js';

let app: TestApp;
let tokens: Record<Role, string>;
let device: TestDevice;
let deviceId: number;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  const actor = { name: 'test', role: 'admin' as const };
  const context = { requestId: 'test', actor, sourceAddress: null };
  const token = async (role: Role) =>
    (await createToken(app.db, { name: role, role }, context)).token;
  tokens = { viewer: await token('viewer'), operator: await token('operator'), admin: ADMIN_TOKEN };
});
afterAll(() => app.stop());
beforeEach(async () => {
  device = await (await createTestDevice(app)).enroll();
  deviceId = (await app.db.knex('devices').where({ udid: device.udid }).first('id')).id;
});

const UNLOCK = Buffer.from([0, 255, 1, 254, 2, 253, 3, 252, 4, 251, 5, 250]);

interface Listed {
  id: number;
  attributes: Record<string, unknown>;
}

async function list(query = ''): Promise<Listed[]> {
  const { status, body } = await adminApi(app, tokens.operator).get(
    `/devices/${deviceId}/secrets?sort=id${query}`,
  );
  expect([status, body.errors]).toEqual([200, undefined]);
  return body.data;
}

function reveal(
  id: number | string,
  { of = deviceId as number | string, role = 'admin' as Role } = {},
) {
  return adminApi(app, tokens[role]).post(`/devices/${of}/secrets/${id}/reveal`, {
    reason: 'lost',
  });
}

async function refused(answer: request.Test): Promise<[number, string]> {
  const { status, body } = await answer;
  return [status, body.errors[0].code];
}

const audited = (outcome: string) =>
  app.db
    .knex('audit_events')
    .where({ action: 'devices.reveal_secret', target_id: String(deviceId), outcome })
    .orderBy('id');

async function escrow(kind: string, value: Buffer): Promise<number> {
  const identity = `devices/${deviceId}/${kind}`;
  const row = { device_id: deviceId, kind, enrollment_number: 1 };
  const [{ id }] = await app.db
    .knex('device_secrets')
    .insert({ ...row, sealed: app.box.seal(value, identity) })
    .returning('id');
  return id;
}

describe('the list of the secrets of a device', () => {
  it('is refused to viewers, directly and as an include of the device', async () => {
    await device.tokenUpdate({ UnlockToken: UNLOCK });
    const viewer = adminApi(app, tokens.viewer);
    expect(await refused(viewer.get(`/devices/${deviceId}/secrets`))).toEqual([403, 'forbidden']);
    expect(await refused(viewer.get('/device_secrets'))).toEqual([403, 'forbidden']);
    const ways = ['?include=secrets', '?filter[secrets__kind]=unlock_token'];
    for (const query of ways) {
      const answer = viewer.get(`/devices${query}`);
      expect([query, await refused(answer)]).toEqual([query, [400, 'invalid_parameter']]);
    }
    const operator = adminApi(app, tokens.operator);
    for (const query of ways) expect((await operator.get(`/devices${query}`)).status).toBe(200);
  });

  it('shows kind, enrollment and time of each, and which one is current, but no value', async () => {
    await device.tokenUpdate({ UnlockToken: UNLOCK });
    await device.checkIn('SetBootstrapToken', { BootstrapToken: Buffer.from('old') });
    await device.checkIn('SetBootstrapToken', { BootstrapToken: Buffer.from('new') });
    await device.checkOut();
    await device.with(issueIdentity(app.authority, await deviceKeys())).enroll();
    const again = device.with(issueIdentity(app.authority, await deviceKeys()));
    await again.enroll({}, { UnlockToken: Buffer.from('other') });
    await again.checkIn('SetBootstrapToken', { BootstrapToken: Buffer.from('third') });
    await again.checkIn('SetBootstrapToken');
    const rows = await list();
    const listed = rows.map(({ attributes: { created_at, is_known, ...rest } }) => {
      expect(is_known).toBe(true);
      expect(Date.parse(String(created_at))).toBeGreaterThan(Date.now() - 60_000);
      return Object.values(rest);
    });
    expect(listed).toEqual([
      ['unlock_token', 1, 'superseded', false, false],
      ['bootstrap_token', 1, 'superseded', false, false],
      ['bootstrap_token', 1, 'superseded', false, false],
      ['unlock_token', 3, 'confirmed', true, false],
      ['bootstrap_token', 3, 'superseded', false, false],
      ['bootstrap_token', 3, 'confirmed', false, true],
    ]);
    const current = await list('&filter[is_current]=true');
    expect(current.map(({ id }) => id)).toEqual([rows[3]?.id]);
    expect(await list('&page[size]=2&page[number]=3')).toEqual(rows.slice(4));
  });
});

describe('the reveal of a secret', () => {
  it.each<Role>(['viewer', 'operator'])(
    'is refused to a %s, and the attempt is audited',
    async (role) => {
      await device.tokenUpdate({ UnlockToken: UNLOCK });
      const [row] = await list();
      expect(await refused(reveal(row?.id ?? 0, { role }))).toEqual([403, 'forbidden']);
      expect(await audited('success')).toEqual([]);
      expect(await audited('refused')).toMatchObject([
        {
          actor: role,
          role,
          target_type: 'devices',
          details: { code: 'forbidden', secret_id: row?.id },
        },
      ]);
    },
  );

  it('requires a secret of the same device', async () => {
    const id = await escrow('unlock_token', UNLOCK);
    const other = await (await createTestDevice(app)).enroll();
    const { id: of } = await app.db.knex('devices').where({ udid: other.udid }).first('id');
    const missing = [404, 'not_found'];
    expect(await refused(reveal(id, { of }))).toEqual(missing);
    expect((await reveal(id, { of })).body.errors[0].detail).toBe(
      `device ${of} has no secret ${id}; GET /api/v1/devices/${of}/secrets lists those that it has`,
    );
    expect(await refused(reveal(id, { of: 987_654 }))).toEqual(missing);
    expect(await refused(reveal(987_654))).toEqual(missing);
    expect(await refused(reveal('x'))).toEqual(missing);
    expect(await refused(reveal(id, { of: 'x' }))).toEqual(missing);
    expect(await audited('success')).toEqual([]);
  });

  it.each([
    [415, undefined],
    [422, {}],
    [422, { reason: ' ' }],
    [422, { reason: 'x'.repeat(501) }],
    [422, { reason: 'lost', more: 1 }],
    [422, { reason: 'lo\u0000st' }],
  ])('requires a reason for the audit trail: %i for %j', async (expected, body) => {
    const id = await escrow('unlock_token', UNLOCK);
    const path = `/devices/${deviceId}/secrets/${id}/reveal`;
    const { status } = await adminApi(app).post(path, body);
    expect(status).toBe(expected);
    expect(await audited('success')).toEqual([]);
  });

  it('names the reason that cannot be stored', async () => {
    const id = await escrow('unlock_token', UNLOCK);
    const path = `/devices/${deviceId}/secrets/${id}/reveal`;
    const { body } = await adminApi(app).post(path, { reason: 'lo\u0000st' });
    expect(body.errors).toMatchObject([
      { detail: 'reason holds an invalid character', source: { pointer: '/reason' } },
    ]);
  });

  it('is refused as GET', async () => {
    const id = await escrow('unlock_token', UNLOCK);
    const path = `/devices/${deviceId}/secrets/${id}/reveal`;
    expect(await refused(adminApi(app).get(path))).toEqual([405, 'method_not_allowed']);
  });

  it('answers 404 for a secret that was removed', async () => {
    await device.checkIn('SetBootstrapToken', { BootstrapToken: Buffer.from('x') });
    await device.checkIn('SetBootstrapToken');
    const [first, removal] = await list();
    const answer = await reveal(removal?.id ?? 0);
    const [{ code, detail }] = answer.body.errors;
    const query =
      'filter[kind]=bootstrap_token&filter[is_removal]=false&filter[is_known]=true&sort=-id';
    expect([answer.status, code, detail]).toEqual([
      409,
      'conflict',
      `secret ${removal?.id} of device ${deviceId} has no value, it records that the bootstrap_token was ` +
        `removed; reveal an earlier one of GET /api/v1/devices/${deviceId}/secrets?${query}`,
    ]);
    const earlier = await adminApi(app).get(`/devices/${deviceId}/secrets?${query}`);
    expect(earlier.body.data.map(({ id }: Listed) => id)).toEqual([first?.id]);
    expect(await audited('success')).toEqual([]);
  });

  it('shows bytes in base64, each time with an audit line', async () => {
    const id = await escrow('unlock_token', UNLOCK);
    const first = await reveal(id);
    expect(first.status).toBe(200);
    expect(first.headers['content-type']).toBe('application/vnd.api+json');
    expect(first.headers['cache-control']).toBe('no-store');
    const [{ attributes }] = (await list()) as [Listed];
    const links = { self: `/api/v1/devices/${deviceId}/secrets/${id}/reveal` };
    expect(first.body).toEqual({
      data: {
        type: 'revealed_secrets',
        id,
        links,
        attributes: {
          kind: 'unlock_token',
          enrollment_number: 1,
          created_at: attributes.created_at,
          encoding: 'base64',
          value: UNLOCK.toString('base64'),
        },
      },
      links,
      jsonapi: { version: '1.0' },
    });
    await reveal(id);
    const details = {
      secret_id: id,
      kind: 'unlock_token',
      enrollment_number: 1,
      reason: 'lost',
    };
    expect(await audited('success')).toMatchObject([{ details }, { details }]);
  });

  it.each([
    ['fde_personal_recovery_key_device_key', 'ABCD-ÉFGH', 'utf8'],
    ['activation_lock_bypass_code', 'A-B-C', 'utf8'],
    ['fde_personal_recovery_key_cms', 'bytes', 'base64'],
    ['bootstrap_token', 'bytes', 'base64'],
  ] as const)('shows a %s in its own form', async (kind, text, encoding) => {
    const id = await escrow(kind, Buffer.from(text));
    const { attributes } = (await reveal(id)).body.data;
    expect(attributes).toMatchObject({
      kind,
      encoding,
      value: Buffer.from(text).toString(encoding),
    });
  });

  it('stores the value nowhere, not even for an Idempotency-Key', async () => {
    const id = await escrow('unlock_token', UNLOCK);
    const call = () => reveal(id).set('Idempotency-Key', 'once');
    const answers = [await call(), await call()];
    expect(answers.map(({ body }) => body.data.attributes.value)).toEqual([
      UNLOCK.toString('base64'),
      UNLOCK.toString('base64'),
    ]);
    expect(answers[1]?.headers['idempotency-replayed']).toBeUndefined();
    expect(await audited('success')).toHaveLength(2);
    const everything = JSON.stringify(await dumpRows(app.db)) + app.logText();
    for (const spelling of spellingsOf(UNLOCK)) expect(everything).not.toContain(spelling);
  });
});
