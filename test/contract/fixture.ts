import { randomUUID } from 'node:crypto';
import { createToken } from '../../src/auth/api-tokens.js';
import { encodePem } from '../../src/crypto/asn1/pem.js';
import { exportPrivateKey, generateEcKeyPair } from '../../src/crypto/keys/keys.js';
import type { Role } from '../../src/jsonapi/context.js';
import { buildPlist } from '../../src/protocol/plist/plist.js';
import { asAuthority, identityOf } from '../crypto/identities.js';
import { ADMIN_TOKEN, PUBLIC_URL, startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice } from '../helpers/device.js';

export type Json = Record<string, unknown>;

export interface Identifier {
  type: string;
  id: number;
}

/** A running server, tokens of every role, and whatever a request may need to be there. */
export interface Fixture {
  app: TestApp;
  tokens: Record<Role, string>;
  /** POSTs the attributes as admin; throws unless the answer is 201. Returns the new id. */
  create(path: string, type: string, attributes: Json, relationships?: Json): Promise<number>;
  device(): Promise<number>;
  /** An enrolled iPhone with an unlock token in escrow. */
  enrolledDevice(): Promise<number>;
  command(deviceId: number): Promise<number>;
  certificate(path?: string): Promise<number>;
  privateKey(isUsed?: boolean): Promise<number>;
  profile(): Promise<number>;
  stop(): Promise<void>;
}

const CONTEXT = {
  requestId: 'contract',
  actor: { name: 'contract', role: 'admin' as const },
  sourceAddress: null,
};

export async function createFixture(): Promise<Fixture> {
  const app = await startApp();
  const tokens = {
    viewer: await tokenOf(app, 'viewer'),
    operator: await tokenOf(app, 'operator'),
    admin: ADMIN_TOKEN,
  };
  const create: Fixture['create'] = (path, type, attributes, relationships) =>
    post(app, path, { data: { type, attributes, relationships } });
  const fixture: Fixture = {
    app,
    tokens,
    create,
    device: () => create('/devices', 'devices', { udid: randomUUID() }),
    enrolledDevice: () => enrolledDevice(app),
    command: (id) => create(`/devices/${id}/commands`, 'commands', commandAttributes()),
    certificate: async (path = '/certificates') => {
      const attributes = await certificateAttributes(path);
      return create(path, 'certificates', attributes);
    },
    privateKey: (isUsed = true) => privateKey(app, create, isUsed),
    profile: async () => idOf(await upload(app, profileFile())),
    stop: () => app.stop(),
  };
  return fixture;
}

async function tokenOf({ db }: TestApp, role: Role): Promise<string> {
  return (await createToken(db, { name: role, role }, CONTEXT)).token;
}

async function post({ url }: TestApp, path: string, body: unknown): Promise<number> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return idOf(response);
}

async function upload({ url }: TestApp, form: FormData): Promise<Response> {
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  return fetch(`${url}/api/v1/upload/profiles`, { method: 'POST', headers, body: form });
}

async function idOf(response: Response): Promise<number> {
  const text = await response.text();
  if (response.status !== 201) throw new Error(`${response.url}: ${response.status} ${text}`);
  const { data } = JSON.parse(text) as { data: Identifier | Identifier[] };
  return Number([data].flat()[0]?.id);
}

async function enrolledDevice(app: TestApp): Promise<number> {
  const device = await createTestDevice(app);
  await device.enroll({ ModelName: 'iPhone' }, { UnlockToken: Buffer.from('unlock token') });
  const row = await app.db.knex('devices').where({ udid: device.udid }).first<Identifier>('id');
  return row?.id ?? 0;
}

export function commandAttributes(): Json {
  return { request_type: 'DeviceInformation', parameters: { Queries: ['UDID'] } };
}

/** The body of POST: a new certificate with its key, of the purpose the collection is for. */
export async function certificateAttributes(path = '/certificates'): Promise<Json> {
  const keys = await generateEcKeyPair('P-256');
  const CN = { type: 'CN', value: `contract ${randomUUID()}` };
  const topic = { type: 'UID', value: `com.apple.mgmt.External.${randomUUID()}` };
  const overrides = {
    '/ca_certificates': { ...asAuthority, subject: [CN] },
    '/push_certificates': { subject: [topic, CN] },
  }[path];
  const subjectAltName = [{ type: 'dns' as const, value: new URL(PUBLIC_URL).hostname }];
  const given = { subject: [CN], subjectAltName, ...overrides };
  const { certificate, privateKey } = identityOf(keys, given);
  return {
    pem_certificate: encodePem('CERTIFICATE', certificate.der),
    pem_private_key: encodePem('PRIVATE KEY', exportPrivateKey(privateKey)),
    purpose: path === '/certificates' ? 'mdm.encrypt' : undefined,
  };
}

/** The id of a stored key; one that is not used has lost the request it was made for. */
async function privateKey(
  app: TestApp,
  create: Fixture['create'],
  isUsed: boolean,
): Promise<number> {
  const path = '/certificate_signing_requests';
  const attributes = { subject: `CN=${randomUUID()}`, purpose: 'mdm.webcrt' };
  const id = await create(path, 'certificate_signing_requests', attributes);
  const row = await app.db
    .knex('certificate_signing_requests')
    .where({ id })
    .first<{ rsa_private_key_id: number }>('rsa_private_key_id');
  if (!isUsed) await app.db.knex('certificate_signing_requests').where({ id }).delete();
  return row?.rsa_private_key_id ?? 0;
}

/** A multipart body with a configuration profile of its own. */
export function profileFile(): FormData {
  const name = (part: string) => `com.example.contract.${randomUUID()}.${part}`;
  const profile = buildPlist({
    PayloadType: 'Configuration',
    PayloadVersion: 1,
    PayloadIdentifier: name('profile'),
    PayloadUUID: randomUUID(),
    PayloadDisplayName: 'Contract',
    PayloadContent: [
      {
        PayloadType: 'com.apple.applicationaccess',
        PayloadVersion: 1,
        PayloadIdentifier: name('restrictions'),
        PayloadUUID: randomUUID(),
        allowCamera: false,
      },
    ],
  });
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(profile)]), 'contract.mobileconfig');
  return form;
}
