import { createToken } from '../../../src/auth/api-tokens.js';
import { parseCertificate } from '../../../src/crypto/x509/certificate.js';
import type { Role } from '../../../src/jsonapi/context.js';
import { Random } from '../../../src/lab/devices/random.js';
import { createSimulatedDevice } from '../../../src/lab/devices/simulated-device.js';
import { readProfileFile } from '../../../src/lab/enrollment/enrollment-profile.js';
import { requestIdentity } from '../../../src/lab/pki/scep-client.js';
import { HttpClient } from '../../../src/lab/wire/http-client.js';
import { type PlistDict, parsePlistDict } from '../../../src/protocol/plist/plist.js';
import { ADMIN_TOKEN, adminApi, PUBLIC_URL, startApp, type TestApp } from '../../helpers/app.js';

const MEDIA_TYPE = 'application/vnd.api+json';
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00$/;
const HOME = '/configuration/organization';
const SCEP = '/configuration/scep';

let app: TestApp;
const tokens = new Map<Role, string>();

beforeAll(async () => {
  app = await startApp();
  const actor = { name: 'root', role: 'admin' as const };
  const context = { requestId: 'request-1', actor, sourceAddress: null };
  for (const role of ['viewer', 'operator', 'admin'] as const) {
    const { token } = await createToken(app.db, { name: `a ${role}`, role }, context);
    tokens.set(role, token);
  }
});
afterAll(() => app.stop());
afterEach(async () => {
  for (const table of ['organizations', 'scep_configurations', 'idempotency_keys']) {
    await app.db.knex(table).delete();
  }
});

function as(role: Role) {
  return adminApi(app, tokens.get(role));
}

const admin = () => adminApi(app);

interface Fault {
  code: string;
  source?: { pointer?: string; header?: string; parameter?: string };
}

function faultsOf(reply: { body: { errors: Fault[] } }): [string, string | undefined][] {
  return reply.body.errors.map(({ code, source }) => [
    code,
    source?.pointer ?? source?.header ?? source?.parameter,
  ]);
}

function document(attributes: object, rest: object = {}) {
  return { data: { attributes, ...rest } };
}

async function enrollmentProfile(): Promise<PlistDict & { PayloadContent: PlistDict[] }> {
  const response = await fetch(`${app.url}/enroll/profile`);
  expect(response.status).toBe(200);
  return parsePlistDict(Buffer.from(await response.arrayBuffer())) as PlistDict & {
    PayloadContent: PlistDict[];
  };
}

async function scepPayload(): Promise<PlistDict> {
  const { PayloadContent } = await enrollmentProfile();
  const payload = PayloadContent.find(
    ({ PayloadType }) => PayloadType === 'com.apple.security.scep',
  );
  return payload?.PayloadContent as PlistDict;
}

const DEFAULT_HOME = {
  name: 'Muster',
  payload_prefix: 'dev.muster',
  x509_c: null,
  x509_o: null,
  x509_ou: null,
  x509_st: null,
  updated_at: null,
};

const DEFAULT_SCEP = {
  source_type: 'InternalSCEP',
  url: `${PUBLIC_URL}/scep`,
  challenge_enabled: true,
  ca_fingerprint: null,
  subject: null,
  key_size: 2048,
  key_type: 'RSA',
  key_usage: 5,
  subject_alt_name: null,
  retries: 3,
  retry_delay: 10,
  certificate_renewal_time_interval: 14,
  updated_at: null,
};

describe.each([
  [HOME, { name: 'Acme', payload_prefix: 'com.acme' }, 'organizations'],
  [SCEP, { key_size: 4096 }, 'scep_configurations'],
])('writing %s', (path, attributes, type) => {
  it('is closed without a token, and to all but admins', async () => {
    expect((await adminApi(app, 'guessed').post(path, attributes)).status).toBe(401);
    for (const role of ['viewer', 'operator'] as const) {
      for (const method of ['post', 'patch'] as const) {
        const reply = await as(role)[method](path, attributes);
        expect([reply.status, ...faultsOf(reply)]).toEqual([403, ['forbidden', undefined]]);
      }
    }
    expect(await app.db.knex(type).select()).toEqual([]);
  });

  it('answers 405 with Allow to DELETE, 204 with Allow to OPTIONS, and HEAD as GET', async () => {
    const reply = await admin().delete(path);
    const allow = 'GET, POST, PATCH, HEAD, OPTIONS';
    expect([reply.status, reply.headers.allow]).toEqual([405, allow]);
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
    const options = await fetch(`${app.url}/api/v1${path}`, { method: 'OPTIONS', headers });
    expect([options.status, options.headers.get('allow')]).toEqual([204, allow]);
    const [get, head] = await Promise.all(
      ['GET', 'HEAD'].map((method) => fetch(`${app.url}/api/v1${path}`, { method, headers })),
    );
    for (const name of ['content-type', 'content-length', 'etag', 'vary']) {
      expect([name, head?.headers.get(name)]).toEqual([name, get?.headers.get(name)]);
    }
    expect([head?.status, await head?.text()]).toEqual([200, '']);
  });

  it('accepts a document and the flat object alike, by POST and by PATCH', async () => {
    const shapes = [
      attributes,
      { type, id: 1, ...attributes },
      document(attributes),
      document(attributes, { type, id: 1 }),
      document(attributes, { type, id: '1' }),
    ];
    for (const body of shapes) {
      for (const method of ['post', 'patch'] as const) {
        const reply = await admin()[method](path, body);
        expect(reply.status).toBe(200);
        expect(reply.headers['content-type']).toBe(MEDIA_TYPE);
        expect(reply.body.data.attributes).toMatchObject(attributes);
      }
    }
    const [row] = await app.db.knex(type).select();
    expect(row).toMatchObject({ id: 1, ...attributes });
  });

  it('refuses another type or id with 409 and its pointer', async () => {
    const cases: [object, string][] = [
      [document(attributes, { type: 'devices' }), '/data/type'],
      [document(attributes, { id: 2 }), '/data/id'],
      [{ ...attributes, type: 'devices' }, '/type'],
      [{ ...attributes, id: 2 }, '/id'],
    ];
    for (const [body, pointer] of cases) {
      const reply = await admin().patch(path, body);
      expect([reply.status, faultsOf(reply)[0]?.[1]]).toEqual([409, pointer]);
    }
    expect(await app.db.knex(type).select()).toEqual([]);
  });

  it('refuses bodies that are no object, and media types that are no JSON', async () => {
    for (const body of ['[]', 'null', '1', '{"data":[]}', '{"data":null}']) {
      const reply = await fetch(`${app.url}/api/v1${path}`, {
        method: 'POST',
        body,
        headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': MEDIA_TYPE },
      });
      expect([body, reply.status]).toEqual([body, 422]);
    }
    const send = (type: string, body: string) =>
      fetch(`${app.url}/api/v1${path}`, {
        method: 'PATCH',
        body,
        headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': type },
      });
    expect((await send('text/plain', '{}')).status).toBe(415);
    for (const method of ['POST', 'PATCH']) {
      const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
      const reply = await fetch(`${app.url}/api/v1${path}`, { method, headers });
      expect([method, reply.status]).toEqual([method, 415]);
    }
    expect((await send('application/json', '')).status).toBe(422);
    expect((await send('application/x-www-form-urlencoded', 'name=a')).status).toBe(415);
    expect((await send('application/json', '{')).status).toBe(400);
  });

  it('refuses query parameters', async () => {
    for (const reply of [
      await admin().get(`${path}?x=1`),
      await admin().patch(`${path}?x=1`, {}),
    ]) {
      expect([reply.status, ...faultsOf(reply)]).toEqual([400, ['invalid_parameter', 'x']]);
    }
  });

  it('leaves an audit event with the attributes before and after', async () => {
    const before = (await admin().get(path)).body.data.attributes;
    await admin().patch(path, attributes);
    const line = await app.db.knex('audit_events').orderBy('id', 'desc').first();
    expect(line).toMatchObject({
      action: `${type}.update`,
      target_type: type,
      target_id: '1',
      outcome: 'success',
      details: {
        changes: Object.fromEntries(
          Object.entries(attributes).map(([name, value]) => [name, [before[name], value]]),
        ),
      },
    });
  });

  it('compares If-Match, also before the first write', async () => {
    const { etag = '' } = (await admin().get(path)).headers;
    expect(etag).toMatch(/^W\/"[\w-]+\.[\w-]+"$/);
    const stale = await admin().patch(path, attributes).set('If-Match', '"other.tag"');
    expect([stale.status, ...faultsOf(stale)]).toEqual([412, ['precondition_failed', 'If-Match']]);
    expect(await app.db.knex(type).select()).toEqual([]);
    const first = await admin().patch(path, attributes).set('If-Match', etag);
    expect(first.status).toBe(200);
    expect(first.headers.etag).not.toBe(etag);
    expect((await admin().patch(path, attributes).set('If-Match', etag)).status).toBe(412);
    const again = await admin()
      .patch(path, attributes)
      .set('If-Match', first.headers.etag ?? '');
    expect(again.status).toBe(200);
    expect((await admin().get(path)).headers.etag).toBe(again.headers.etag);
  });

  it('runs once for one Idempotency-Key', async () => {
    const send = (body: object) => admin().post(path, body).set('Idempotency-Key', 'key-1');
    const lines = () => app.db.knex('audit_events').count('* as n').first();
    const first = await send(attributes);
    const before = await lines();
    const second = await send(attributes);
    expect([second.status, second.text]).toEqual([200, first.text]);
    expect(await lines()).toEqual(before);
    const other = await send({ ...attributes, type });
    expect([other.status, ...faultsOf(other)]).toEqual([
      422,
      ['idempotency_key_reused', 'Idempotency-Key'],
    ]);
  });
});

describe('the organization', () => {
  it.each([HOME, '/organization', `${HOME}/`, '/organization/'])(
    'is at %s, with its defaults before the first write',
    async (path) => {
      const reply = await as('viewer').get(path);
      expect([reply.status, reply.headers['content-type']]).toEqual([200, MEDIA_TYPE]);
      const links = { self: '/api/v1/configuration/organization' };
      expect(reply.body).toEqual({
        data: { type: 'organizations', id: 1, attributes: DEFAULT_HOME, links },
        links,
        jsonapi: { version: '1.0' },
      });
    },
  );

  it('is read-only at /organization', async () => {
    const reply = await admin().post('/organization', { name: 'x' });
    expect([reply.status, reply.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  it('requires a name in its first POST, and in no later one', async () => {
    const refused = await admin().post(HOME, { x509_c: 'DE' });
    expect([refused.status, ...faultsOf(refused)]).toEqual([
      422,
      ['validation_failed', '/name'],
      ['validation_failed', '/payload_prefix'],
    ]);
    expect(await app.db.knex('organizations').select()).toEqual([]);
    const home = { name: 'Acme', payload_prefix: 'com.acme', x509_o: 'Acme Ltd' };
    expect((await admin().post(HOME, home)).status).toBe(200);
    const later = await admin().post(HOME, { x509_c: 'DE' });
    expect(later.body.data.attributes).toMatchObject({ ...home, x509_c: 'DE', x509_st: null });
  });

  it('keeps attributes that a PATCH leaves out, and clears those that are null', async () => {
    const first = await admin().patch(HOME, { x509_ou: 'IT', x509_st: 'Berlin' });
    expect(first.body.data.attributes).toEqual({
      ...DEFAULT_HOME,
      x509_ou: 'IT',
      x509_st: 'Berlin',
      updated_at: expect.stringMatching(TIMESTAMP),
    });
    const second = await admin().patch(HOME, { x509_ou: null, name: 'Ämter' });
    expect(second.body.data.attributes).toMatchObject({
      name: 'Ämter',
      x509_ou: null,
      x509_st: 'Berlin',
    });
    expect((await as('viewer').get('/organization')).body).toEqual(second.body);
  });

  it('reports every fault at once, each with its pointer', async () => {
    const bad = {
      name: '',
      payload_prefix: 'no dots or spaces',
      x509_c: 'DEU',
      x509_o: 'o'.repeat(65),
      x509_ou: 'u'.repeat(33),
      x509_st: 7,
      'x/y': 1,
      updated_at: 'ignored',
    };
    const names = Object.keys(bad).filter((name) => name !== 'updated_at');
    for (const [body, prefix] of [
      [bad, ''],
      [document(bad), '/data/attributes'],
    ] as const) {
      const reply = await admin().patch(HOME, body);
      expect(reply.status).toBe(422);
      expect(faultsOf(reply)).toEqual(
        names.map((name) => ['validation_failed', `${prefix}/${name.replace('/', '~1')}`]),
      );
    }
    for (const name of ['name', 'payload_prefix']) {
      const reply = await admin().patch(HOME, { [name]: null });
      expect([reply.status, ...faultsOf(reply)]).toEqual([422, ['validation_failed', `/${name}`]]);
    }
    expect(await app.db.knex('organizations').select()).toEqual([]);
  });

  it.each(['a\u0000b', 'a\nb', 'a\u0085b', 'a\u202eb', 'a\u2066b'])(
    'refuses a name with characters that control or turn text: %j',
    async (name) => {
      const reply = await admin().patch(HOME, { name });
      expect(reply.status).toBe(422);
      expect(faultsOf(reply)).toContainEqual(['validation_failed', '/name']);
      expect(await app.db.knex('organizations').select()).toEqual([]);
    },
  );

  it('appears in the next enrollment profile', async () => {
    await admin().post(HOME, {
      name: 'Ämter & Co',
      payload_prefix: 'com.example.mdm',
      x509_c: 'de',
      x509_st: 'Berlin',
      x509_o: 'Example',
      x509_ou: 'IT',
    });
    expect(await enrollmentProfile()).toMatchObject({
      PayloadIdentifier: 'com.example.mdm.enroll',
      PayloadOrganization: 'Ämter & Co',
    });
    expect(await scepPayload()).toMatchObject({
      Name: 'Ämter & Co',
      Subject: [
        [['C', 'DE']],
        [['ST', 'Berlin']],
        [['O', 'Example']],
        [['OU', 'IT']],
        [['CN', '%HardwareUUID%']],
      ],
    });
  });

  it('reports the fault of each attribute, and stores countries in capital letters', async () => {
    const bad = {
      name: '',
      payload_prefix: 'x',
      x509_c: 'DEU',
      x509_o: 'o'.repeat(65),
      x509_st: 7,
    };
    const reply = await admin().patch(HOME, bad);
    expect(reply.body.errors.map(({ detail }: { detail: string }) => detail)).toEqual([
      'name must have at least 1 character',
      'payload_prefix must be a domain name in reverse, such as com.example.mdm',
      'x509_c must be 2 letters',
      'x509_o must have at most 64 characters',
      'x509_st must be a string',
    ]);
    const written = await admin().patch(HOME, { x509_c: 'de' });
    expect(written.body.data.attributes.x509_c).toBe('DE');
  });

  it('contains both of two first writes at the same instant', async () => {
    const replies = await Promise.all([
      admin().patch(HOME, { x509_c: 'DE' }),
      admin().patch(HOME, { x509_o: 'Example' }),
      admin().patch(HOME, { x509_st: 'Berlin' }),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await admin().get(HOME)).body.data.attributes).toMatchObject({
      x509_c: 'DE',
      x509_o: 'Example',
      x509_st: 'Berlin',
    });
  });
});

describe('the SCEP configuration', () => {
  it('shows its defaults before the first write', async () => {
    const links = { self: '/api/v1/configuration/scep' };
    expect((await as('viewer').get(SCEP)).body).toEqual({
      data: { type: 'scep_configurations', id: 1, attributes: DEFAULT_SCEP, links },
      links,
      jsonapi: { version: '1.0' },
    });
  });

  it('reports every fault at once', async () => {
    const bad = {
      source_type: 'InternalPKCS12',
      url: 'ftp://x/y',
      challenge: '',
      ca_fingerprint: 'abc',
      subject: 'Example',
      key_size: 1024,
      key_usage: 2,
      retries: -1,
      retry_delay: 'soon',
      subject_alt_name: { dnsName: 'x' },
      certificate_renewal_time_interval: 1.5,
      challenge_enabled: 'yes',
      key_type: 'ignored',
      unknown: 1,
    };
    const reply = await admin().patch(SCEP, bad);
    expect(reply.status).toBe(422);
    const names = Object.keys(bad).filter((name) => name !== 'key_type');
    expect(faultsOf(reply).map(([, pointer]) => pointer)).toEqual(names.map((name) => `/${name}`));
    const details = Object.fromEntries(
      reply.body.errors.map((fault: { detail: string; source: { pointer: string } }) => [
        fault.source.pointer,
        fault.detail,
      ]),
    );
    expect(details['/source_type']).toMatch(/PKCS#12 .* not offered/);
    expect(details).toMatchObject({
      '/key_size': 'key_size must be 2048 or 4096 (shorter keys are too weak)',
      '/challenge': 'challenge must have at least 1 character',
      '/retries': 'retries must be at least 0',
      '/retry_delay': 'retry_delay must be a number',
      '/certificate_renewal_time_interval':
        'certificate_renewal_time_interval must be a whole number',
      '/challenge_enabled': 'challenge_enabled must be true or false',
      '/subject_alt_name':
        'subject_alt_name has no member "dnsName"; known: rfc822Name, dNSName, ' +
        'uniformResourceIdentifier, ntPrincipalName',
      '/url': 'url must be an http or https URL',
    });
    expect(details['/ca_fingerprint']).toMatch(/SHA-1 or MD5/);
    expect(await app.db.knex('scep_configurations').select()).toEqual([]);
  });

  it.each([
    'O=Example,CN=%HardwareUUID%',
    'O=Example, cn=x, CN=%HardwareUUID%',
    'O=Example/OU=IT,1.2.3=x',
    'O=/CN=x',
    'X=y',
  ])('shows the syntax of a subject instead of %s', async (subject) => {
    const reply = await admin().patch(SCEP, { subject });
    expect([reply.status, reply.body.errors[0].detail]).toEqual([
      422,
      'subject must be parts of C, L, ST, O, OU, CN or object identifiers behind slashes: ' +
        'O=Example/CN=%HardwareUUID%',
    ]);
  });

  it('keeps commas within the parts of a subject', async () => {
    const subject = '/O=Example, Inc./CN=%HardwareUUID%';
    expect((await admin().patch(SCEP, { subject })).status).toBe(200);
    expect(await scepPayload()).toMatchObject({
      Subject: [[['O', 'Example, Inc.']], [['CN', '%HardwareUUID%']]],
    });
  });

  it.each(['https://user:password@ca.example.com/scep', 'https://user@ca.example.com/scep'])(
    'refuses a URL with a user, which every device could read: %s',
    async (url) => {
      const reply = await admin().patch(SCEP, { url });
      expect([reply.status, ...faultsOf(reply)]).toEqual([422, ['validation_failed', '/url']]);
      expect(reply.body.errors[0].detail).toBe('url must be without a user and password');
    },
  );

  it('accepts numbers as the text of a form, and fingerprints in any spelling', async () => {
    const reply = await admin().patch(SCEP, {
      key_size: '4096',
      key_usage: '1',
      retries: '7',
      retry_delay: '30',
      certificate_renewal_time_interval: '30',
      key_type: 'EC',
      ca_fingerprint: '01:23:45:67:89:AB:CD:EF 01:23:45:67:89:AB:CD:EF 01:23:45:67',
    });
    expect(reply.body.data.attributes).toMatchObject({
      key_size: 4096,
      key_usage: 1,
      retries: 7,
      retry_delay: 30,
      key_type: 'RSA',
      certificate_renewal_time_interval: 30,
      ca_fingerprint: '0123456789abcdef0123456789abcdef01234567',
    });
  });

  it('appears in the next enrollment profile, and null restores the default', async () => {
    const subject_alt_name = {
      dNSName: ['a.example.com', 'b.example.com'],
      rfc822Name: 'x@example.com',
      ntPrincipalName: 'x',
    };
    await admin().post(SCEP, {
      url: 'https://ca.example.com/scep?x=1',
      subject: '/O=Acme/1.2.3.4=x/CN=%SerialNumber%',
      key_size: 4096,
      key_usage: 1,
      retries: 7,
      retry_delay: 30,
      subject_alt_name,
      ca_fingerprint: '0123456789abcdef0123456789abcdef',
      source_type: 'ExternalSCEP',
    });
    expect(await scepPayload()).toMatchObject({
      URL: 'https://ca.example.com/scep?x=1',
      Subject: [[['O', 'Acme']], [['1.2.3.4', 'x']], [['CN', '%SerialNumber%']]],
      Keysize: 4096,
      'Key Usage': 1,
      Retries: 7,
      RetryDelay: 30,
      SubjectAltName: subject_alt_name,
      CAFingerprint: Buffer.from('0123456789abcdef0123456789abcdef', 'hex'),
    });
    const { updated_at: _now, key_type: _fixed, source_type: _kept, ...rest } = DEFAULT_SCEP;
    const nulls = Object.fromEntries(Object.keys(rest).map((name) => [name, null]));
    const reply = await admin().patch(SCEP, { ...nulls, source_type: null, challenge: null });
    expect(reply.body.data.attributes).toEqual({
      ...DEFAULT_SCEP,
      updated_at: expect.stringMatching(TIMESTAMP),
    });
    expect(await scepPayload()).toMatchObject({ URL: `${PUBLIC_URL}/scep`, Keysize: 2048 });
  });

  it('stores the server\'s own address as "ours", so that it follows PUBLIC_URL', async () => {
    const whole = (await admin().get(SCEP)).body;
    expect((await admin().patch(SCEP, whole)).status).toBe(200);
    expect(await app.db.knex('scep_configurations').first('url')).toEqual({ url: null });
  });

  it('never shows the challenge: not in documents, rows, audit lines or the log', async () => {
    const challenge = 'a secret of the external CA';
    const reply = await admin().patch(SCEP, { challenge });
    expect(reply.status).toBe(200);
    const [rows, lines] = await Promise.all([
      app.db.knex('scep_configurations').select(),
      app.db.knex('audit_events').select(),
    ]);
    const seen = [reply.text, JSON.stringify([rows, lines]), app.logText()].join();
    expect(seen).not.toContain(challenge);
    expect(seen).not.toContain(Buffer.from(challenge).toString('hex'));
    expect(reply.body.data.attributes).not.toHaveProperty('challenge');
    expect(rows[0].sealed_challenge).not.toBeNull();
  });

  it('has no static challenge with InternalSCEP, whatever was set', async () => {
    await admin().patch(SCEP, { challenge: 'fixed', challenge_enabled: false });
    const [one, other] = [await scepPayload(), await scepPayload()];
    expect(one.Challenge).not.toBe('fixed');
    expect(one.Challenge).not.toBe(other.Challenge);
  });

  it('lets devices enroll with Muster after an external CA, whatever fingerprint was stored', async () => {
    await admin().patch(SCEP, { ca_fingerprint: '0123456789abcdef0123456789abcdef01234567' });
    const file = await (await fetch(`${app.url}/enroll/profile`)).arrayBuffer();
    const { scep } = readProfileFile(Buffer.from(file));
    const identity = await requestIdentity({
      http: new HttpClient({ retryMs: 0, signal: AbortSignal.timeout(30_000) }),
      scep: { ...scep, url: `${app.url}/scep` },
      device: createSimulatedDevice({ platform: 'iOS', random: new Random('fingerprint') }),
    });
    const issuer = parseCertificate(identity.certificate).issuer;
    expect(issuer).toBe(app.authority.certificate.subject);
  });

  it('warns about settings that keep devices from enrolling', async () => {
    const url = 'https://ca.example.com/scep';
    const { body } = await admin().patch(SCEP, { url, source_type: 'ExternalSCEP' });
    expect(body.meta.warnings).toEqual([
      'the certificate of the external CA is not stored here, so no device can enroll: ' +
        'upload it by POST /api/v1/ca_certificates',
    ]);
    expect((await as('viewer').get(SCEP)).body).toEqual(body);
    const inside = await admin().patch(SCEP, { source_type: null });
    expect(inside.body.meta.warnings).toEqual([
      'source_type is InternalSCEP, so devices can enroll only if url leads to /scep of this ' +
        'server: set it to null',
    ]);
    expect((await admin().patch(SCEP, { url: null })).body).not.toHaveProperty('meta');
  });

  it('needs the URL of an external CA, and sends its challenge unless that is switched off', async () => {
    const refused = await admin().patch(SCEP, document({ source_type: 'ExternalSCEP' }));
    expect([refused.status, ...faultsOf(refused)]).toEqual([
      422,
      ['validation_failed', '/data/attributes/url'],
    ]);
    const url = 'https://ca.example.com/scep';
    const external = { source_type: 'ExternalSCEP', url, challenge: 'of theirs' };
    expect((await admin().patch(SCEP, external)).status).toBe(200);
    expect(await scepPayload()).toMatchObject({ URL: url, Challenge: 'of theirs' });
    expect((await admin().patch(SCEP, { url: null })).status).toBe(422);
    await admin().patch(SCEP, { challenge_enabled: false });
    expect(await scepPayload()).not.toHaveProperty('Challenge');
    await admin().patch(SCEP, { challenge_enabled: true, challenge: null });
    expect(await scepPayload()).not.toHaveProperty('Challenge');
  });
});
