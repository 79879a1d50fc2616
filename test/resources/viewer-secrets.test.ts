import request from 'supertest';
import { buildPlist } from '../../src/protocol/plist/plist.js';
import { createTestApi, type TestApi } from '../jsonapi/test-api.js';

const MASK = '********';

let api: TestApi;
let deviceId: number;

beforeAll(async () => {
  api = await createTestApi();
  [{ id: deviceId }] = await api.knex('devices').insert({ udid: 'D-1' }).returning('id');
});
afterAll(() => api.close());

const get = (path: string, role: string) => request(api.app).get(path).set('X-Role', role);

async function queue(request_type: string, parameters: object): Promise<number> {
  const { status, body } = await request(api.app)
    .post(`/api/v1/devices/${deviceId}/commands`)
    .set('X-Role', 'operator')
    .send({ data: { type: 'commands', attributes: { request_type, parameters } } });
  expect([status, body.errors]).toEqual([201, undefined]);
  return body.data.id;
}

/** The attributes of a command by every way a reader has to it. */
async function shownOf(id: number, role: string) {
  const fields = 'fields[commands]=parameters,result,error_chain';
  const paths = [
    `/api/v1/commands/${id}?${fields}`,
    `/api/v1/commands?filter[id]=${id}&${fields}`,
    `/api/v1/devices/${deviceId}/commands?filter[id]=${id}&${fields}`,
  ];
  const shown = [];
  for (const path of paths) {
    const { body } = await get(path, role);
    shown.push([body.data].flat()[0].attributes);
  }
  const { body } = await get(`/api/v1/devices/${deviceId}?include=commands&${fields}`, role);
  const resource = body.included.find((one: { id: number }) => one.id === id);
  shown.push(resource.attributes);
  expect(new Set(shown.map((one) => JSON.stringify(one))).size).toBe(1);
  return shown[0];
}

describe('commands as viewers read them', () => {
  const parameters = {
    ManifestURL: 'https://u:p@cdn.example.com/app.plist?token=abc',
    ManagementFlags: 1,
    Configuration: { password: 'secret' },
  };

  it('have neither app configurations nor credentials in URLs; operators read both', async () => {
    const id = await queue('InstallApplication', parameters);
    const result = buildPlist({ RejectionReason: 'https://h/a?token=abc', Status: 'Error' });
    const error_chain = JSON.stringify([{ LocalizedDescription: 'no https://h/a?token=abc' }]);
    await api.knex('commands').where({ id }).update({ status: 'Error', result, error_chain });
    expect(await shownOf(id, 'viewer')).toEqual({
      parameters: {
        ManifestURL: `https://${MASK}@cdn.example.com/app.plist?${MASK}`,
        ManagementFlags: 1,
        Configuration: MASK,
      },
      result: { RejectionReason: `https://h/a?${MASK}`, Status: 'Error' },
      error_chain: [{ LocalizedDescription: `no https://h/a?${MASK}` }],
    });
    for (const role of ['operator', 'admin']) {
      expect(await shownOf(id, role)).toEqual({
        parameters,
        result: { RejectionReason: 'https://h/a?token=abc', Status: 'Error' },
        error_chain: [{ LocalizedDescription: 'no https://h/a?token=abc' }],
      });
    }
  });
});

describe('the parameters of InstallProfile', () => {
  const names = {
    PayloadIdentifier: 'com.example.wifi',
    PayloadUUID: '0B6B6A5E-4C33-4A3C-9A52-3D0C6F1F7C11',
    PayloadDisplayName: 'Office Wi-Fi',
  };
  const PayloadVersion = 1;
  const wifi = { PayloadType: 'com.apple.wifi.managed', Password: 'secret' };
  const PayloadContent = [{ ...names, ...wifi, PayloadVersion }];

  it.each(['viewer', 'admin'])('name the profile and contain nothing of it: %s', async (role) => {
    const keys = { PayloadType: 'Configuration', PayloadVersion, PayloadContent };
    const profile = buildPlist({ ...names, ...keys });
    const id = await queue('InstallProfile', { Payload: profile.toString('base64') });
    expect((await shownOf(id, role)).parameters).toEqual({
      Payload: { ...names, size: profile.length },
    });
  });

  it('have the size alone where the profile cannot be read', async () => {
    // The beginning of an encrypted profile.
    const Payload = Buffer.from('301606092a864886f70d010703', 'hex').toString('base64');
    const id = await queue('InstallProfile', { Payload });
    expect((await shownOf(id, 'admin')).parameters).toEqual({ Payload: { size: 13 } });
  });
});

describe('the tokens of the enrollment program', () => {
  const secrets = { consumer_key: 'CK_1234', access_token: 'AT_5678' };
  let accountId: number;
  let tokenId: number;

  beforeAll(async () => {
    [{ id: accountId }] = await api
      .knex('dep_accounts')
      .insert({ ...secrets, server_name: 'the server' })
      .returning('id');
    [{ id: tokenId }] = await api
      .knex('dep_tokens')
      .insert({ ...secrets, dep_account_id: accountId })
      .returning('id');
  });

  it.each(['viewer', 'operator'])('are not shown to the role %s', async (role) => {
    const paths = [
      `/api/v1/dep/accounts/${accountId}?include=dep_tokens`,
      '/api/v1/dep/accounts?include=dep_tokens&fields[dep_tokens]=consumer_key,created_at',
      `/api/v1/dep/tokens/${tokenId}?include=dep_account`,
      '/api/v1/dep/tokens?fields[dep_tokens]=access_token',
    ];
    for (const path of paths) {
      const { status, text } = await get(path, role);
      expect([path, status]).toEqual([path, 200]);
      expect(text).not.toMatch(/CK_1234|AT_5678/);
    }
  });

  it('are shown to admins', async () => {
    const { body } = await get(`/api/v1/dep/accounts/${accountId}?include=dep_tokens`, 'admin');
    expect(body.data.attributes).toMatchObject(secrets);
    expect(body.included[0].attributes).toMatchObject(secrets);
  });

  it.each([
    '/dep/accounts?filter[consumer_key]=CK_1234',
    '/dep/accounts?sort=access_token',
    '/dep/accounts?filter=[{"name":"server_name","op":"ne","field":"consumer_key"}]',
    '/dep/tokens?sort=-consumer_key',
    '/dep/tokens?filter=[{"name":"dep_account__consumer_key","op":"startswith","val":"C"}]',
    '/dep/accounts?filter=[{"name":"dep_tokens","op":"any","val":{"name":"access_token","op":"eq","val":"x"}}]',
  ])('can be compared with by admins only: %s', async (path) => {
    expect((await get(`/api/v1${path}`, 'viewer')).status).toBe(400);
    expect((await get(`/api/v1${path}`, 'operator')).status).toBe(400);
    expect((await get(`/api/v1${path}`, 'admin')).status).toBe(200);
  });
});
