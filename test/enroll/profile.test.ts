import request from 'supertest';
import { PLACEHOLDER_TOPIC } from '../../src/pki/push-certificates/push-topic.js';
import { type PlistDict, parsePlistDict } from '../../src/protocol/plist/plist.js';
import { PUBLIC_URL, startApp, type TestApp } from '../helpers/app.js';
import { dumpRows } from '../mdm/rows.js';

const UUID = /^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$/;

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());
afterEach(async () => {
  for (const table of ['organizations', 'scep_configurations']) await app.db.knex(table).delete();
  await app.db.knex('certificates').where({ purpose: 'mdm.pushcert' }).delete();
});

interface Profile extends PlistDict {
  PayloadContent: PlistDict[];
}

async function fetchProfile(query = ''): Promise<Profile> {
  const response = await fetch(`${app.url}/enroll/profile${query}`);
  expect(response.status).toBe(200);
  return parsePlistDict(Buffer.from(await response.arrayBuffer())) as Profile;
}

function payloadOf(profile: Profile, type: string): PlistDict {
  const found = profile.PayloadContent.filter(({ PayloadType }) => PayloadType === type);
  expect(found).toHaveLength(1);
  return found[0] ?? {};
}

async function scepOf(): Promise<PlistDict> {
  return payloadOf(await fetchProfile(), 'com.apple.security.scep').PayloadContent as PlistDict;
}

let certificates = 0;

async function insertKey(): Promise<number> {
  const fingerprint_sha256 = `key ${certificates}`;
  const key = { key_type: 'RSA', key_size: 2048, sealed_pkcs8: Buffer.of(0), fingerprint_sha256 };
  const [{ id }] = await app.db.knex('rsa_private_keys').insert(key, 'id');
  return id;
}

async function insertPushCertificate(columns: Record<string, unknown>): Promise<void> {
  certificates += 1;
  await app.db.knex('certificates').insert({
    purpose: 'mdm.pushcert',
    subject: 'CN=APSP',
    issuer: 'CN=Apple',
    serial: '01',
    not_before: new Date(0),
    not_after: new Date(Date.now() + 86_400_000),
    fingerprint: Buffer.alloc(32, certificates),
    der: Buffer.from('x'),
    rsa_private_key_id: await insertKey(),
    ...columns,
  });
}

describe('the enrollment profile', () => {
  it('is sent as a configuration profile for download that is not cached', async () => {
    const response = await fetch(`${app.url}/enroll/profile`);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/x-apple-aspen-config',
      'content-disposition': 'attachment; filename="enroll.mobileconfig"',
      'cache-control': 'no-store',
    });
    expect(await response.text()).toMatch(/^<\?xml version="1.0" encoding="UTF-8"\?>/);
  });

  it('has the keys of a profile, and its three payloads in the order of need', async () => {
    const { PayloadContent, ...profile } = await fetchProfile();
    expect({ ...profile }).toEqual({
      PayloadType: 'Configuration',
      PayloadVersion: 1,
      PayloadIdentifier: 'dev.muster.enroll',
      PayloadUUID: expect.stringMatching(UUID),
      PayloadDisplayName: 'Muster device management',
      PayloadOrganization: 'Muster',
      PayloadScope: 'System',
    });
    expect(PayloadContent.map(({ PayloadType }) => PayloadType)).toEqual([
      'com.apple.security.root',
      'com.apple.security.scep',
      'com.apple.mdm',
    ]);
    const uuids = PayloadContent.map(({ PayloadUUID }) => PayloadUUID);
    expect(new Set([...uuids, profile.PayloadUUID]).size).toBe(4);
  });

  it('contains the CA that issues the identities', async () => {
    const ca = payloadOf(await fetchProfile(), 'com.apple.security.root');
    expect({ ...ca }).toMatchObject({
      PayloadIdentifier: 'dev.muster.ca',
      PayloadUUID: expect.stringMatching(UUID),
      PayloadContent: app.authority.certificate.der,
    });
  });

  it('requires signatures and a CheckOut, and contains no address but that of the server', async () => {
    const profile = await fetchProfile();
    const mdm = payloadOf(profile, 'com.apple.mdm');
    expect({ ...mdm }).toEqual({
      PayloadType: 'com.apple.mdm',
      PayloadVersion: 1,
      PayloadIdentifier: 'dev.muster.mdm',
      PayloadUUID: expect.stringMatching(UUID),
      PayloadDisplayName: expect.any(String),
      IdentityCertificateUUID: payloadOf(profile, 'com.apple.security.scep').PayloadUUID,
      Topic: PLACEHOLDER_TOPIC,
      ServerURL: expect.stringMatching(/^https:\/\/mdm\.example\.com\/mdm\?c=([0-5]\d|6[0-3])$/),
      SignMessage: true,
      CheckOutWhenRemoved: true,
      AccessRights: 8191,
      ServerCapabilities: expect.arrayContaining([
        'com.apple.mdm.per-user-connections',
        'com.apple.mdm.bootstraptoken',
      ]),
    });
  });

  it('contains how the device gets its identity', async () => {
    expect({ ...(await scepOf()) }).toEqual({
      URL: `${PUBLIC_URL}/scep`,
      Name: 'Muster',
      Subject: [[['O', 'Muster']], [['CN', '%HardwareUUID%']]],
      Challenge: expect.any(String),
      Keysize: 2048,
      'Key Type': 'RSA',
      'Key Usage': 5,
      Retries: 3,
      RetryDelay: 10,
      AllowAllAppsAccess: false,
      KeyIsExtractable: false,
    });
  });

  it('has another challenge each time, and a GET stores nothing', async () => {
    const before = await dumpRows(app.db);
    const challenges = [await scepOf(), await scepOf(), await scepOf()].map(
      ({ Challenge }) => Challenge,
    );
    expect(new Set(challenges).size).toBe(3);
    expect(await dumpRows(app.db)).toEqual(before);
    for (const challenge of challenges) expect(app.logText()).not.toContain(challenge);
  });

  it('answers HEAD, and other methods with 405', async () => {
    expect((await request(app.app).head('/enroll/profile')).status).toBe(200);
    for (const method of ['put', 'patch', 'delete'] as const) {
      const reply = await request(app.app)[method]('/enroll/profile');
      expect([reply.status, reply.headers.allow]).toEqual([405, 'GET, HEAD, POST']);
    }
  });
});

describe('the topic', () => {
  const topic = 'com.apple.mgmt.External.11111111-2222-3333-4444-555555555555';
  const topicNow = async () => payloadOf(await fetchProfile(), 'com.apple.mdm').Topic;

  it('comes from the push certificate added last', async () => {
    await insertPushCertificate({ push_topic: 'other', not_before: new Date(1_000) });
    await insertPushCertificate({ push_topic: topic });
    expect(await topicNow()).toBe(topic);
  });

  it('is not that of an unusable certificate: without its key, not yet valid, expired, revoked', async () => {
    await insertPushCertificate({ push_topic: topic });
    await insertPushCertificate({ push_topic: 'keyless', rsa_private_key_id: null });
    await insertPushCertificate({ push_topic: 'early', not_before: new Date(Date.now() + 60_000) });
    await insertPushCertificate({ push_topic: 'expired', not_after: new Date(1) });
    await insertPushCertificate({ push_topic: 'revoked', revoked_at: new Date() });
    await insertPushCertificate({ push_topic: null });
    expect(await topicNow()).toBe(topic);
    await app.db.knex('certificates').where({ push_topic: topic }).delete();
    expect(await topicNow()).toBe(PLACEHOLDER_TOPIC);
  });
});

describe('the organization', () => {
  it('appears in the profile', async () => {
    await app.db.knex('organizations').insert({
      name: 'Ämter & Co',
      payload_prefix: 'com.example.mdm',
      x509_c: 'DE',
      x509_st: 'Berlin',
      x509_o: 'Example',
      x509_ou: 'IT',
    });
    const profile = await fetchProfile();
    expect(profile).toMatchObject({
      PayloadIdentifier: 'com.example.mdm.enroll',
      PayloadOrganization: 'Ämter & Co',
      PayloadDisplayName: 'Ämter & Co device management',
    });
    const identifiers = profile.PayloadContent.map(({ PayloadIdentifier }) => PayloadIdentifier);
    expect(identifiers).toEqual([
      'com.example.mdm.ca',
      'com.example.mdm.scep',
      'com.example.mdm.mdm',
    ]);
    const scep = payloadOf(profile, 'com.apple.security.scep').PayloadContent as PlistDict;
    expect(scep.Name).toBe('Ämter & Co');
    expect(scep.Subject).toEqual([
      [['C', 'DE']],
      [['ST', 'Berlin']],
      [['O', 'Example']],
      [['OU', 'IT']],
      [['CN', '%HardwareUUID%']],
    ]);
  });
});

describe('the SCEP configuration', () => {
  const configure = (columns: Record<string, unknown>) =>
    app.db.knex('scep_configurations').insert(columns);

  it('appears in the profile', async () => {
    await configure({
      key_size: 4096,
      key_usage: 1,
      retries: 7,
      retry_delay: 30,
      url: 'https://scep.example.com/x',
      subject: 'O=Acme/OU=IT/CN=%SerialNumber%',
      ca_fingerprint: '01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF:01:23:45:67',
      source_type: 'ExternalSCEP',
      subject_alt_name: JSON.stringify({ dNSName: 'device.example.com' }),
    });
    expect(await scepOf()).toMatchObject({
      Keysize: 4096,
      'Key Usage': 1,
      Retries: 7,
      RetryDelay: 30,
      URL: 'https://scep.example.com/x',
      Subject: [[['O', 'Acme']], [['OU', 'IT']], [['CN', '%SerialNumber%']]],
      CAFingerprint: Buffer.from('0123456789abcdef0123456789abcdef01234567', 'hex'),
      SubjectAltName: { dNSName: 'device.example.com' },
    });
  });

  it('of the internal CA has no fingerprint: the stored one is of another CA', async () => {
    await configure({ ca_fingerprint: '0123456789abcdef0123456789abcdef' });
    expect(await scepOf()).not.toHaveProperty('CAFingerprint');
  });

  it('of the internal CA always has a generated challenge', async () => {
    await configure({
      challenge_enabled: false,
      sealed_challenge: app.box.seal(Buffer.from('fixed'), 'scep_configurations/challenge'),
    });
    const [one, other] = [await scepOf(), await scepOf()];
    expect(one.Challenge).not.toBe('fixed');
    expect(one.Challenge).not.toBe(other.Challenge);
  });

  it('of an external CA has the static challenge, or none', async () => {
    await configure({
      source_type: 'ExternalSCEP',
      url: 'https://scep.example.com',
      sealed_challenge: app.box.seal(Buffer.from('of theirs'), 'scep_configurations/challenge'),
    });
    expect((await scepOf()).Challenge).toBe('of theirs');
    await app.db.knex('scep_configurations').update({ challenge_enabled: false });
    expect(await scepOf()).not.toHaveProperty('Challenge');
  });

  it('for identities as PKCS#12, which are not supported, is answered 503', async () => {
    await configure({ source_type: 'InternalPKCS12' });
    const response = await fetch(`${app.url}/enroll/profile`);
    expect([response.status, await response.text()]).toEqual([503, '']);
    expect(response.headers.get('retry-after')).toBe('30');
  });
});

describe('the policy', () => {
  it.each([
    ['closed', 'enrollment is closed on this server\n'],
    ['link', 'enrollment needs a valid link from an administrator\n'],
  ])('%s refuses devices without a link, with the reason', async (ENROLLMENT, reason) => {
    const other = await startApp({ env: { ENROLLMENT } });
    for (const query of ['', '?token=guessed', '?signed=false']) {
      const response = await fetch(`${other.url}/enroll/profile${query}`);
      expect([response.status, await response.text()]).toEqual([403, reason]);
    }
    expect((await fetch(`${other.url}/enroll/profile`, { method: 'HEAD' })).status).toBe(403);
    await other.stop();
  });
});
