import { randomBytes, randomUUID } from 'node:crypto';
import request from 'supertest';
import { createToken } from '../../../src/auth/api-tokens.js';
import { profilePayload } from '../../../src/commands/payload.js';
import { exportPrivateKey, importPrivateKey } from '../../../src/crypto/keys/keys.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { storeSharedPayloads } from '../../../src/db/devices/shared-payloads.js';
import { Random } from '../../../src/lab/devices/random.js';
import { createSimulatedDevice } from '../../../src/lab/devices/simulated-device.js';
import { fetchProfile } from '../../../src/lab/enrollment/enrollment-profile.js';
import { requestIdentity } from '../../../src/lab/pki/scep-client.js';
import { HttpClient } from '../../../src/lab/wire/http-client.js';
import { privateKeyLabel } from '../../../src/pki/master-key/master-key.js';
import { buildPlist, type PlistDict } from '../../../src/protocol/plist/plist.js';
import { uploadNodes } from '../../api/profile-samples.js';
import { fixture } from '../../crypto/identities.js';
import {
  ADMIN_TOKEN,
  adminApi,
  commandDocument,
  MASTER_KEY,
  startApp,
  type TestApp,
} from '../../helpers/app.js';
import { createTestDevice, type TestDevice } from '../../helpers/device.js';
import { nextKeys } from '../../helpers/prepared-keys.js';
import { payload, profile } from '../../profiles/sample-profiles.js';
import { certificatePem, keyPem, makeIdentity } from '../../resources/certificate-samples.js';

export interface FilledServer {
  app: TestApp;
  device: TestDevice;
  deviceId: number;
  profileId: number;
  /** The planted secrets, by their kind. */
  secrets: Map<string, Buffer>;
  /** Secrets of six digits, which also occur in other numbers. */
  pin: string;
}

const PIN = '482913';

/** Texts that occur nowhere else. */
function secretText(name: string): string {
  return `${name}-${randomBytes(12).toString('hex')}`;
}

/** The lab has its own CA; it refuses real credentials only when it starts. */
export async function startFilledServer(): Promise<FilledServer> {
  const env = { LAB: 'on', PUBLIC_URL: 'http://localhost:8080' };
  const app = await startApp({ env, isSweeping: false });
  try {
    return { ...(await fill(app)), app, pin: PIN };
  } catch (error) {
    await app.stop();
    throw error;
  }
}

async function fill(app: TestApp): Promise<Omit<FilledServer, 'app' | 'pin'>> {
  const secrets = new Map<string, Buffer>([
    ['the master key', MASTER_KEY],
    ['the admin token', Buffer.from(ADMIN_TOKEN)],
  ]);
  const say = (name: string): string => {
    const text = secretText(name);
    secrets.set(name, Buffer.from(text));
    return text;
  };
  const device = await createTestDevice(app);
  const deviceId = await enroll(app, device, say);
  await sendCommands(app, device, { deviceId, say });
  const profileId = await uploadProfile(app, say);
  await configure(app, say);
  await addProfileSecret(app, say);
  expect((await adminApi(app).get('/configuration/file_vault/profile')).status).toBe(200);
  await makeLink(app, secrets);
  await spendChallenge(app, secrets);
  await makeTokens(app, secrets);
  await addCredentials(app, say, secrets);
  for (const [name, key] of await privateKeysOf(app)) secrets.set(name, key);
  for (const [name, key] of await settingKeysOf(app)) secrets.set(name, key);
  return { device, deviceId, profileId, secrets };
}

type Say = (name: string) => string;

async function enroll(app: TestApp, device: TestDevice, say: Say): Promise<number> {
  const UnlockToken = Buffer.from(say('unlock token'));
  const token = {
    UnlockToken,
    Token: Buffer.from(say('push token')),
    PushMagic: say('push magic'),
  };
  await device.enroll({ SerialNumber: 'C02FILLED001' }, token);
  const user = { Token: Buffer.from(say('user token')), PushMagic: say('user magic') };
  await device.tokenUpdate({ ...user, UserID: randomUUID(), UserShortName: 'ada' });
  await device.checkIn('SetBootstrapToken', { BootstrapToken: Buffer.from(say('bootstrap')) });
  const row = await app.db.knex('devices').where({ udid: device.udid }).first<{ id: number }>('id');
  const id = row?.id ?? 0;
  await app.db.knex('commands').where({ device_id: id }).delete();
  return id;
}

interface Conversation {
  deviceId: number;
  say: Say;
}

async function sendCommands(app: TestApp, device: TestDevice, { deviceId, say }: Conversation) {
  const queue = async (type: string, parameters?: object) => {
    const document = commandDocument(deviceId, type, parameters && { parameters });
    const { status, body } = await adminApi(app).post('/commands', document);
    if (status !== 201) throw new Error(`${type}: ${JSON.stringify(body)}`);
    return String(body.data.attributes.uuid);
  };
  const information = await queue('SecurityInfo');
  await device.idle();
  await device.report(information, 'Acknowledged', {
    SecurityInfo: {
      FDE_PersonalRecoveryKeyCMS: Buffer.from(say('recovery cms')),
      FDE_PersonalRecoveryKeyDeviceKey: say('recovery device key'),
    },
  });
  await app.waitForReports();
  const become = (platform: string) =>
    app.db.knex('devices').where({ id: deviceId }).update({ platform });
  // Only Macs have PINs, and only others a passcode to clear.
  await become('macOS');
  await queue('EraseDevice', { PIN });
  await device.idle();
  const batch = { request_type: 'EraseDevice', parameters: { PIN } };
  await adminApi(app)
    .post('/command_batches', {
      data: {
        type: 'command_batches',
        attributes: batch,
        relationships: { devices: { data: [{ type: 'devices', id: String(deviceId) }] } },
      },
    })
    .expect(202);
  await become('iOS');
  const wifi = payload('com.apple.wifi.managed', { Password: say('password in a command') });
  const Payload = buildPlist({
    PayloadType: 'Configuration',
    PayloadVersion: 1,
    PayloadIdentifier: 'com.example.of-a-command',
    PayloadUUID: 'of-a-command',
    PayloadDescription: String(wifi.get('Password')),
    PayloadContent: [],
  }).toString('base64');
  await queue('InstallProfile', { Payload });
  const assigned = profilePayload(app.box, Buffer.from(say('in an assigned profile')));
  await inTransaction(app.db, (trx) => storeSharedPayloads(trx, [assigned]));
  await adminApi(app).post(`/devices/${deviceId}/clear_passcode`).expect(201);
  await device.report(randomUUID(), 'Acknowledged', { Secret: say('in a report nobody asked') });
}

async function uploadProfile(app: TestApp, say: Say): Promise<number> {
  const wifi = payload('com.apple.wifi.managed', { SSID_STR: 'Office', Password: say('Wi-Fi') });
  const { status, body } = await uploadNodes(
    app,
    profile([wifi], {
      PayloadDescription: 'Wi-Fi of the office',
      RemovalPassword: say('removal'),
    }),
    { headers: { 'Idempotency-Key': randomUUID() } },
  );
  if (status !== 201) throw new Error(JSON.stringify(body));
  return Number([body.data].flat()[0].id);
}

async function configure(app: TestApp, say: Say): Promise<void> {
  const account = {
    consumer_key: 'CK_lab_open',
    access_token: 'AT_open',
    consumer_secret: say('consumer secret'),
    access_secret: say('access secret'),
    auth_session_token: say('session token'),
    access_token_expiry: '2031-01-15T09:30:00Z',
  };
  await adminApi(app)
    .post('/dep/accounts', { data: { type: 'dep_accounts', attributes: account } })
    .expect(201);
  await adminApi(app).patch('/configuration/scep', { challenge: say('external challenge') });
  const file = (payload: PlistDict) =>
    buildPlist({ PayloadType: 'Configuration', PayloadContent: [payload] }).toString('base64');
  const wifi = { PayloadType: 'com.apple.wifi.managed', SSID_STR: 'Office' };
  await adminApi(app)
    .patch('/configuration/return_to_service', {
      wifi_profile: file({ ...wifi, Password: say('Wi-Fi of return to service') }),
      mdm_profile: file({
        PayloadType: 'com.apple.mdm',
        Topic: say('enrollment of return to service'),
      }),
    })
    .expect(200);
}

async function addProfileSecret(app: TestApp, say: Say): Promise<void> {
  const attributes = { name: 'wifi', value: say('secret of profiles') };
  await adminApi(app)
    .post('/profile_secrets', { data: { type: 'profile_secrets', attributes } })
    .expect(201);
}

/** With an Idempotency-Key, so that its response is stored. */
async function makeLink(app: TestApp, secrets: Map<string, Buffer>): Promise<void> {
  const { status, body } = await request(app.app)
    .post('/api/v1/enrollment_links')
    .set({ Authorization: `Bearer ${ADMIN_TOKEN}`, 'Idempotency-Key': randomUUID() })
    .send({ data: { type: 'enrollment_links', attributes: { name: 'Office' } } });
  if (status !== 201) throw new Error(JSON.stringify(body));
  const token = new URL(body.data.attributes.url).searchParams.get('token') ?? '';
  secrets.set('token of an enrollment link', Buffer.from(token));
  await fetch(`${app.url}/enroll/profile?token=${token}`);
}

/** As a device does: fetches the profile, and sends its challenge with a request. */
async function spendChallenge(app: TestApp, secrets: Map<string, Buffer>): Promise<void> {
  const http = new HttpClient({ retryMs: 0, signal: new AbortController().signal });
  try {
    const { scep } = await fetchProfile(http, app.url);
    const device = createSimulatedDevice({ platform: 'macOS', random: new Random('filled') });
    const keys = await nextKeys();
    await requestIdentity({ http, scep: { ...scep, url: `${app.url}/scep` }, device, keys });
    secrets.set('SCEP challenge', Buffer.from(scep.challenge ?? ''));
    secrets.set('key of a device', partOf(exportPrivateKey(keys.privateKey)));
  } finally {
    http.close();
  }
}

async function makeTokens({ db }: TestApp, secrets: Map<string, Buffer>): Promise<void> {
  const actor = { name: 'filled', role: 'admin' } as const;
  const context = { requestId: 'filled', actor, sourceAddress: null };
  const { token } = await createToken(db, { name: 'ci', role: 'viewer' }, context);
  secrets.set('API token', Buffer.from(token));
}

async function addCredentials(app: TestApp, say: Say, secrets: Map<string, Buffer>) {
  const subjectAltName = [{ type: 'dns' as const, value: 'mdm.example.com' }];
  const identity = await makeIdentity({ subjectAltName });
  const post = (attributes: object) =>
    request(app.app)
      .post('/api/v1/certificates')
      .set({ Authorization: `Bearer ${ADMIN_TOKEN}`, 'Idempotency-Key': randomUUID() })
      .send({ data: { type: 'certificates', attributes } });
  const pem_certificate = certificatePem(identity.certificate);
  await post({ purpose: 'mdm.webcrt', pem_certificate, pem_private_key: keyPem(identity) }).expect(
    201,
  );
  secrets.set('uploaded key', partOf(exportPrivateKey(identity.privateKey)));
  const pkcs12 = fixture('cert/push.test-pair.p12').toString('base64');
  await post({ purpose: 'mdm.encrypt', pkcs12, password: say('PKCS #12') }).expect(422);
  await post({ purpose: 'mdm.encrypt', pkcs12, password: 'secret' }).expect(201);
  const signingRequest = { purpose: 'mdm.pushcert', subject: 'CN=push' };
  const data = { type: 'certificate_signing_requests', attributes: signingRequest };
  await adminApi(app).post('/certificate_signing_requests', { data }).expect(201);
}

/** Secret octets of a private key: of EC the number itself, of RSA parts of the primes. */
function partOf(pkcs8: Buffer): Buffer {
  if (pkcs8.length < 200) return pkcs8.subarray(36, 36 + 32);
  const start = Math.floor(pkcs8.length * 0.7);
  return pkcs8.subarray(start, start + 32);
}

/** Parts of every private key that is stored, and the beginnings of those in PKCS #8. */
async function privateKeysOf({ db, box }: TestApp): Promise<[string, Buffer][]> {
  const rows: { id: number; fingerprint_sha256: string; sealed_pkcs8: Buffer }[] =
    await db.knex('rsa_private_keys');
  const keys = rows.flatMap((row): [string, Buffer][] => {
    const identity = privateKeyLabel(row.fingerprint_sha256);
    const pkcs8 = exportPrivateKey(importPrivateKey(box.open(row.sealed_pkcs8, identity)));
    return [
      [`key ${row.id}`, partOf(pkcs8)],
      [`start of key ${row.id}`, pkcs8.subarray(0, 26)],
    ];
  });
  return keys;
}

/** The keys that are kept as settings: of the lab's CAs, and for FileVault. */
async function settingKeysOf({ db, box }: TestApp): Promise<[string, Buffer][]> {
  const identities = {
    lab: 'lab/authority',
    lab_device_ca: 'lab/device-ca',
    file_vault: 'file-vault/key',
  };
  const keys: [string, Buffer][] = [];
  for (const [name, identity] of Object.entries(identities)) {
    const { value } = await db.knex('server_settings').where({ name }).first();
    const sealed = Buffer.from(value.sealed_key, 'base64');
    keys.push([`key of ${name}`, partOf(box.open(sealed, identity))]);
  }
  return keys;
}
