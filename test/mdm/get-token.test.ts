import { createPublicKey, verify } from 'node:crypto';
import { encodePem } from '../../src/crypto/asn1/pem.js';
import { exportPrivateKey, generateEcKeyPair } from '../../src/crypto/keys/keys.js';
import { readEnrollmentProfile } from '../../src/lab/enrollment/profile-reader.js';
import { parsePlistDict } from '../../src/protocol/plist/plist.js';
import { type Identity, identityOf } from '../crypto/identities.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, deviceKeys, type Fields, type TestDevice } from '../helpers/device.js';
import { nextKeys } from '../helpers/prepared-keys.js';
import { certificatePem, keyPem } from '../resources/certificate-samples.js';

const SERVER = '1F97349736CF4614A94F624E705841AD';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const ANNA = { UserID: '8A6C5A51-7C60-4B6E-93A6-0E6B7F9C1D22', UserShortName: 'anna' };

let app: TestApp;
let device: TestDevice;
let identity: Identity;
let ecIdentity: Identity;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  device = await (await createTestDevice(app)).enroll();
  const subject = [{ type: 'CN', value: 'server of the program' }];
  identity = await identityOf(await deviceKeys(), { subject });
  ecIdentity = await identityOf(await generateEcKeyPair(), { subject });
});
afterAll(() => app.stop());
beforeEach(async () => {
  const { knex } = app.db;
  await knex('devices').update({ dep_profile_id: null });
  for (const table of ['dep_profiles', 'dep_accounts']) await knex(table).delete();
  await knex('certificates').where({ purpose: 'dep.stoken' }).delete();
});

interface Upload {
  of?: Identity;
  purpose?: string;
  withKey?: boolean;
}

async function upload({ of = identity, purpose = 'dep.stoken', withKey = true }: Upload = {}) {
  const attributes = {
    purpose,
    pem_certificate: certificatePem(of.certificate),
    pem_private_key: withKey ? keyPem(of) : undefined,
  };
  const { status, body } = await adminApi(app).post('/certificates', {
    data: { type: 'certificates', attributes },
  });
  expect([status, body.errors]).toEqual([201, undefined]);
  return body.data[0].id as number;
}

function accountDocument(server_uuid: string | null, certificate: number | null) {
  const token_certificate = {
    data: certificate === null ? null : { type: 'certificates', id: certificate },
  };
  const attributes = server_uuid === null ? {} : { server_uuid };
  return { data: { type: 'dep_accounts', attributes, relationships: { token_certificate } } };
}

async function addAccount(server_uuid: string | null, certificate: number | null) {
  const document = accountDocument(server_uuid, certificate);
  const { status, body } = await adminApi(app).post('/dep/accounts', document);
  expect([status, body.errors]).toEqual([201, undefined]);
  return body.data.id as number;
}

async function ask(fields: Fields = {}): Promise<{ status: number; token: string }> {
  const message = { TokenServiceType: 'com.apple.maid', ...fields };
  const { status, body } = await device.checkIn('GetToken', message);
  if (body.length === 0) return { status, token: '' };
  const answer = parsePlistDict(body);
  expect(Object.keys(answer)).toEqual(['TokenData']);
  return { status, token: String(answer.TokenData) };
}

const partOf = (token: string, index: number) =>
  JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString());

function isSignedBy({ publicKey }: Pick<Identity, 'publicKey'>, token: string): boolean {
  const [header, claims, signature = ''] = token.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  return verify('sha256', Buffer.from(`${header}.${claims}`), publicKey, bytes);
}

async function capabilities(): Promise<string[] | undefined> {
  const reply = await fetch(`${app.url}/enroll/profile`);
  expect(reply.status).toBe(200);
  return readEnrollmentProfile(Buffer.from(await reply.arrayBuffer())).mdm.serverCapabilities;
}

describe('GetToken', () => {
  it.each([
    ['a service that is not known', { TokenServiceType: 'org.example.tokens' }],
    ['the pairing of watches', { TokenServiceType: 'com.apple.watch.pairing' }],
    ['no service', { TokenServiceType: '' }],
  ])('with %s gets 400', async (_what, fields) => {
    await addAccount(SERVER, await upload());
    expect(await ask(fields)).toEqual({ status: 400, token: '' });
    expect(await ask({ ...fields, ...ANNA })).toEqual({ status: 400, token: '' });
  });

  it.each([
    ['there is no account', async () => undefined, 'no DEP account'],
    ['the account has no certificate', () => addAccount(SERVER, null), 'token_certificate'],
    ['Apple has not said who this is', async () => addAccount(null, await upload()), 'server_uuid'],
  ])('gets 404 where %s, and the log says why', async (_what, prepare, word) => {
    await prepare();
    expect(await ask()).toEqual({ status: 404, token: '' });
    expect(app.logLines.at(-1)).toMatchObject({ status: 404 });
    expect(app.logLines.at(-1)?.detail).toContain(word);
  });

  it('gets a token of the account that lists the device, among several accounts', async () => {
    const certificate = await upload();
    const own = await addAccount(SERVER, certificate);
    const other = await addAccount('0'.repeat(32), certificate);
    const { knex } = app.db;
    const [{ id: device_id }] = await knex('devices').where({ udid: device.udid }).select('id');
    const list = (dep_account_id: number, row: object) =>
      knex('dep_devices').insert({ dep_account_id, serial_number: 'S', device_id, ...row });
    await list(other, { listed_at: new Date(), removed_at: new Date() });
    await list(own, { listed_at: null });
    expect((await ask()).status).toBe(404);
    await knex('dep_devices').where({ dep_account_id: own }).update({ listed_at: new Date() });
    const { status, token } = await ask();
    expect([status, partOf(token, 1).iss]).toEqual([200, SERVER]);
  });

  it('gets 404 when several accounts could be that of the device', async () => {
    await addAccount(SERVER, await upload());
    await addAccount('0'.repeat(32), null);
    expect(await ask()).toEqual({ status: 404, token: '' });
  });

  it.each<[string, Fields]>([
    ['a device', {}],
    ['a user', ANNA],
  ])('from %s gets a token that Apple can verify, each time a new one', async (_who, ids) => {
    await addAccount(SERVER, await upload());
    const before = Math.floor(Date.now() / 1000);
    const { status, token } = await ask({ ...ids, TokenParameters: { PhoneUDID: 'x' } });
    expect(status).toBe(200);
    expect(partOf(token, 0)).toEqual({ alg: 'RS256', typ: 'JWT' });
    const { iat, jti, ...claims } = partOf(token, 1);
    expect(claims).toEqual({ iss: SERVER, service_type: 'com.apple.maid' });
    expect(jti).toMatch(UUID);
    expect(iat).toBeGreaterThanOrEqual(before);
    expect(iat).toBeLessThanOrEqual(Date.now() / 1000);
    expect(isSignedBy(identity, token)).toBe(true);
    expect(isSignedBy({ publicKey: createPublicKey(ecIdentity.privateKey) }, token)).toBe(false);
    expect(partOf((await ask(ids)).token, 1).jti).not.toBe(jti);
    expect(app.logText()).not.toContain(token);
  });

  it("names the server as Apple wrote it, of the account of the device's profile", async () => {
    const certificate = await upload();
    await addAccount(SERVER, certificate);
    const dashed = '4b2e4d0f-6C1A-4a7e-9d3b-5c8f70a1e2d3';
    const dep_account_id = await addAccount(dashed, certificate);
    const [{ id }] = await app.db
      .knex('dep_profiles')
      .insert({ dep_account_id, profile_name: 'P', url: 'https://mdm.example.com' })
      .returning('id');
    await app.db.knex('devices').where({ udid: device.udid }).update({ dep_profile_id: id });
    const { status, token } = await ask();
    expect([status, partOf(token, 1).iss]).toEqual([200, dashed]);
  });

  it('gets 403 from a device that is not enrolled', async () => {
    await addAccount(SERVER, await upload());
    const outsider = await createTestDevice(app);
    const fields = { TokenServiceType: 'com.apple.maid' };
    expect((await outsider.checkIn('GetToken', fields)).status).toBe(403);
    await outsider.authenticate();
    expect((await outsider.checkIn('GetToken', fields)).status).toBe(403);
  });
});

describe('the enrollment profile', () => {
  const USUAL = ['com.apple.mdm.per-user-connections', 'com.apple.mdm.bootstraptoken'];

  it('announces GetToken once an account has all that tokens need', async () => {
    expect(await capabilities()).toEqual(USUAL);
    const certificate = await upload();
    await addAccount(null, certificate);
    expect(await capabilities()).toEqual(USUAL);
    await addAccount(SERVER, certificate);
    expect(await capabilities()).toEqual([...USUAL, 'com.apple.mdm.token']);
  });
});

describe('the token certificate of an account', () => {
  const refusal = async (certificate: number) => {
    const document = accountDocument(SERVER, certificate);
    const { status, body } = await adminApi(app).post('/dep/accounts', document);
    return [status, body.errors[0].source?.pointer];
  };
  const POINTER = '/data/relationships/token_certificate/data';

  it('has the purpose dep.stoken, and its RSA key is here', async () => {
    const other = await upload({ of: ecIdentity, purpose: 'mdm.encrypt' });
    expect(await refusal(other)).toEqual([422, POINTER]);
    await app.db.knex('certificates').where({ id: other }).delete();
    const ec = await upload({ of: ecIdentity });
    expect(await refusal(ec)).toEqual([422, POINTER]);
    const keyless = await identityOf(await nextKeys(), {});
    expect(await refusal(await upload({ of: keyless, withKey: false }))).toEqual([422, POINTER]);
    expect(await refusal(987_654)).toEqual([404, POINTER]);
    expect(await app.db.knex('dep_accounts')).toEqual([]);
  });

  it('is set and cleared by its own path, and cannot be removed while it is set', async () => {
    const certificate = await upload();
    const account = await addAccount(SERVER, null);
    const path = `/dep/accounts/${account}/relationships/token_certificate`;
    const link = { data: { type: 'certificates', id: certificate } };
    const set = await adminApi(app).patch(path, link);
    expect([set.status, set.body.data]).toEqual([200, link.data]);
    const kept = await adminApi(app).delete(`/certificates/${certificate}`);
    expect([kept.status, kept.body.errors[0].code]).toEqual([409, 'in_use']);
    expect(kept.body.errors[0].detail).toContain('DEP account');
    expect((await adminApi(app).patch(path, { data: null })).status).toBe(200);
    expect((await adminApi(app).delete(`/certificates/${certificate}`)).status).toBe(204);
  });

  it('does not show its key', async () => {
    await addAccount(SERVER, await upload());
    const { text } = await adminApi(app).get('/dep/accounts?include=token_certificate');
    expect(text).not.toContain(encodePem('PRIVATE KEY', exportPrivateKey(identity.privateKey)));
    expect(text).not.toContain('PRIVATE');
  });
});
