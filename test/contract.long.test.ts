import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROLES, type Role } from '../src/jsonapi/context.js';
import { createFixture, type Fixture } from './contract/fixture.js';
import { type Call, type Case, caseOf } from './contract/operations.js';
import { sealToken, tokenMembers } from './dep/tokens/sealed-token.js';
import { createTestDevice } from './helpers/device.js';

interface Operation {
  method: string;
  path: string;
}

const OPERATIONS: Operation[] = JSON.parse(
  readFileSync(join(__dirname, 'fixtures', 'contract', 'routes.json'), 'utf8'),
);

const APPLE_PROFILE = 'application/x-apple-aspen-config';

/** Path, media type of its answer, something that stands in it. */
const DEVICE_FILES = [
  ['/enroll/profile', APPLE_PROFILE, 'com.apple.mdm'],
  ['/enroll/ota', APPLE_PROFILE, 'Profile Service'],
  ['/enroll/trust.mobileconfig', APPLE_PROFILE, 'com.apple.security.root'],
  ['/dep/anchor_certs', 'application/json', '['],
] as const;

/** What a device signs is posted to them. */
const SIGNED_POSTS = ['/enroll/ota_authenticate', '/enroll/profile', '/dep/enroll'];

/** Of devices: without a token, and tested below each by itself. */
const OF_DEVICES = [
  ...['PUT /mdm', ...DEVICE_FILES.map(([path]) => `GET ${path}`)],
  ...SIGNED_POSTS.map((path) => `POST ${path}`),
];

/** Of admins, though not below /api/v1. */
const OF_ADMINS = ['GET /dep/certificate/download', 'POST /dep/stoken/upload'];

const nameOf = ({ method, path }: Operation) => `${method} ${path}`;
const admin = OPERATIONS.filter(({ path }) => path.startsWith('/api/v1/'));

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.stop());

function send(method: string, { path, body, form }: Call, token?: string): Promise<Response> {
  const json = body && { 'Content-Type': 'application/vnd.api+json' };
  return fetch(`${fixture.app.url}/api/v1${path}`, {
    method,
    headers: { ...json, ...(token && { Authorization: `Bearer ${token}` }) },
    body: form ?? (body ? JSON.stringify(body) : null),
    redirect: 'manual',
  });
}

/** As the given role, with everything the request needs made anew. */
async function attempt({ method, prepare }: Case & { method: string }, role: Role, slash: string) {
  const call = await prepare(fixture);
  return send(method, { ...call, path: call.path + slash }, fixture.tokens[role]);
}

describe('the contract', () => {
  it('has 123 operations, all of them here', () => {
    expect(OPERATIONS).toHaveLength(123);
    const names = new Set(OPERATIONS.map(nameOf));
    expect(names.size).toBe(123);
    expect([...OF_ADMINS, ...OF_DEVICES].filter((name) => !names.has(name))).toEqual([]);
    expect(admin.length + OF_DEVICES.length + OF_ADMINS.length).toBe(123);
  });

  it.each(['', '/'])(
    "has how tokens of Apple's portal come here, with %j at the end",
    async (slash) => {
      const path = (name: string) => fixture.app.url + name + slash;
      const headers = { Authorization: `Bearer ${fixture.tokens.admin}` };
      const certificate = await fetch(path('/dep/certificate/download'), { headers });
      const pem = await certificate.text();
      expect([certificate.status, certificate.headers.get('content-type')]).toEqual([
        ...[200, 'application/x-x509-ca-cert'],
      ]);
      const body = new FormData();
      body.append('file', new Blob([new Uint8Array(sealToken(pem, tokenMembers()))]), 'smime.p7m');
      const upload = await fetch(path('/dep/stoken/upload'), { method: 'POST', headers, body });
      expect([
        upload.status,
        ((await upload.json()) as { data: { type: string } }).data.type,
      ]).toEqual([201, 'dep_accounts']);
      const others = [fixture.tokens.operator, fixture.tokens.viewer].map(
        (token) => [token, 403] as const,
      );
      for (const [token, status] of [...others, [undefined, 401] as const]) {
        for (const name of OF_ADMINS) {
          const [method = '', where = ''] = name.split(' ');
          const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
          const refused = await fetch(path(where), { method, headers: authorization });
          expect([name, refused.status]).toEqual([name, status]);
        }
      }
    },
  );
});

describe.each(admin.map((operation) => [nameOf(operation), operation] as const))(
  '%s',
  (_name, { method, path }) => {
    const operation = { method, ...caseOf(method, path.replace('/api/v1', '')) };
    const { role, status } = operation;
    const rank = ROLES.indexOf(role);

    it.each([
      ['as written without a slash', ''],
      ['with a slash at its end', '/'],
    ])(`answers ${status} to an admin, %s`, async (_how, slash) => {
      const response = await attempt(operation, 'admin', slash);
      const text = await response.text();
      expect([response.status, response.status === status ? '' : text]).toEqual([status, '']);
      if (status === 204) expect(text).toBe('');
      else expect(text).not.toBe('');
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    });

    it.each(ROLES.filter((other) => other !== 'admin'))('knows the role %s', async (other) => {
      const response = await attempt(operation, other, '');
      const allowed = ROLES.indexOf(other) >= rank;
      expect(response.status).toBe(allowed ? status : 403);
      const body = await response.text();
      if (!allowed) expect(JSON.parse(body).errors[0].code).toBe('forbidden');
    });

    it('answers 401 without a token', async () => {
      const bare = path.replace('/api/v1', '').replace(/\{\w+\}/g, '1');
      const response = await send(method, { path: bare });
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toContain('Bearer');
      expect(response.headers.get('content-type')).toBe('application/vnd.api+json');
    });
  },
);

describe('what devices call', () => {
  it.each(DEVICE_FILES)('GET %s gives %s', async (path, type, part) => {
    for (const slash of ['', '/']) {
      const response = await fetch(fixture.app.url + path + slash);
      expect([path, response.status]).toEqual([path, 200]);
      expect(response.headers.get('content-type')?.split(';')[0]).toBe(type);
      expect(await response.text()).toContain(part);
    }
  });

  it.each(SIGNED_POSTS)('POST %s refuses what is not signed', async (path) => {
    for (const slash of ['', '/']) {
      const response = await fetch(fixture.app.url + path + slash, { method: 'POST', body: 'x' });
      expect([path, response.status]).toEqual([path, 400]);
      expect(response.headers.has('www-authenticate')).toBe(false);
    }
  });

  it.each(['/mdm', '/mdm/'])('PUT %s answers a device', async (path) => {
    const device = await createTestDevice(fixture.app);
    await device.enroll();
    const reply = await device.send({ Status: 'Idle', ...device.ids }, { path });
    expect(reply.status).toBe(200);
    expect(reply.body.toString()).toContain('DeviceInformation');
  });
});
