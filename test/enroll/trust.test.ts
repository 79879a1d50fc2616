import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import request from 'supertest';
import { insertCertificate } from '../../src/db/pki/certificate-repository.js';
import { certificateRecord } from '../../src/pki/certificates/certificate-record.js';
import { type PlistDict, parsePlistDict } from '../../src/protocol/plist/plist.js';
import { asAuthority, ecIdentity, type Identity, identityOf } from '../crypto/identities.js';
import { PUBLIC_URL, startApp, type TestApp } from '../helpers/app.js';
import { deviceKeys } from '../helpers/device.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';
import { certificatePem, keyPem } from '../mdm/certified-device.js';
import { dumpRows } from '../mdm/rows.js';
import { asBuffer } from '../scep/scep-server.js';

const UUID = /^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$/;
const TRUST = '/enroll/trust.mobileconfig';

/** With an https address, where a proxy terminates TLS. */
let plain: TestApp;
let app: TestApp | undefined;

beforeAll(async () => {
  plain = await startApp({ isSweeping: false });
});
afterEach(async () => {
  await app?.stop();
  app = undefined;
});
afterAll(async () => {
  await plain.stop();
  removeTemporaryDirectories();
});

async function start(env: Record<string, string> = {}): Promise<TestApp> {
  app = await startApp({ isSweeping: false, env });
  return app;
}

/** A server that shows these in TLS, the first one as its own. */
function startWithTls(leaf: Identity, ...chain: Identity[]): Promise<TestApp> {
  const directory = temporaryDirectory();
  const TLS_CERT_FILE = join(directory, 'chain.pem');
  const TLS_KEY_FILE = join(directory, 'server.key');
  const certificates = [leaf, ...chain].map(({ certificate }) => certificate);
  writeFileSync(TLS_CERT_FILE, certificatePem(...certificates));
  writeFileSync(TLS_KEY_FILE, keyPem(leaf));
  return start({ TLS_CERT_FILE, TLS_KEY_FILE });
}

/** A root, an intermediate CA and a server, each certified by the one before. */
async function hierarchy(): Promise<{ root: Identity; middle: Identity; leaf: Identity }> {
  const root = await ecIdentity('P-256', { ...asAuthority, pathLength: 1 });
  const name = (value: string) => [{ type: 'CN' as const, value }];
  const middle = await ecIdentity('P-256', {
    ...asAuthority,
    subject: name('Middle'),
    issuedBy: root,
  });
  const subjectAltName = [{ type: 'dns' as const, value: 'mdm.example.com' }];
  const leaf = identityOf(await deviceKeys(), {
    subject: name('mdm.example.com'),
    subjectAltName,
    issuedBy: middle,
  });
  return { root, middle, leaf };
}

async function store(
  { db }: TestApp,
  { certificate }: Identity,
  purpose: 'dep.anchor' | 'mdm.cacert',
) {
  await db.knex.transaction((trx) =>
    insertCertificate(trx, certificateRecord(certificate, purpose)),
  );
}

async function trustProfile({ app }: TestApp) {
  const reply = await request(app).get(TRUST).buffer(true).parse(asBuffer);
  expect(reply.status).toBe(200);
  return parsePlistDict(reply.body as Buffer) as PlistDict & { PayloadContent: PlistDict[] };
}

/** Type, end of the identifier and content of each payload. */
async function payloads(server: TestApp) {
  const { PayloadContent } = await trustProfile(server);
  return PayloadContent.map(({ PayloadType, PayloadIdentifier, PayloadContent: der }) => [
    String(PayloadType).replace('com.apple.security.', ''),
    String(PayloadIdentifier).replace('dev.muster.', ''),
    der,
  ]);
}

async function anchors({ app }: TestApp): Promise<Buffer[]> {
  const reply = await request(app).get('/dep/anchor_certs');
  expect([reply.status, reply.headers['content-type']]).toEqual([
    200,
    'application/json; charset=utf-8',
  ]);
  const all: string[] = reply.body;
  // Standard base64: that of the URL kind would not come back the same.
  for (const text of all) expect(Buffer.from(text, 'base64').toString('base64')).toBe(text);
  return all.map((text) => Buffer.from(text, 'base64'));
}

const own = ({ authority }: TestApp) => authority.certificate.der;
const der = ({ certificate }: Identity) => certificate.der;

describe('the trust profile', () => {
  it('contains the CA of Muster alone without TLS, and stores nothing', async () => {
    const server = await start({ ENROLLMENT: 'closed' });
    const before = await dumpRows(server.db);
    const { headers } = await request(server.app).get(TRUST);
    expect(headers).toMatchObject({
      'content-type': 'application/x-apple-aspen-config',
      'content-disposition': 'attachment; filename="trust.mobileconfig"',
    });
    const { PayloadContent, ...profile } = await trustProfile(server);
    expect({ ...profile }).toEqual({
      PayloadType: 'Configuration',
      PayloadVersion: 1,
      PayloadIdentifier: 'dev.muster.trust',
      PayloadUUID: expect.stringMatching(UUID),
      PayloadDisplayName: 'Muster certificates',
      PayloadDescription: 'Lets this device trust the server that manages it.',
      PayloadOrganization: 'Muster',
      PayloadScope: 'System',
    });
    expect(await payloads(server)).toEqual([['root', 'ca', own(server)]]);
    expect((await trustProfile(server)).PayloadUUID).toBe(profile.PayloadUUID);
    expect(await dumpRows(server.db)).toEqual(before);
  });

  it('has a self-signed TLS certificate as a root', async () => {
    const { leaf } = await hierarchy();
    const alone = identityOf(leaf, { subject: [{ type: 'CN', value: 'mdm.example.com' }] });
    const server = await startWithTls(alone);
    expect(await payloads(server)).toEqual([
      ['root', 'ca', own(server)],
      ['root', 'ssl', der(alone)],
    ]);
  });

  it('has the chain of a private CA, what is below the root as certificates', async () => {
    const { root, middle, leaf } = await hierarchy();
    const server = await startWithTls(leaf, middle, root);
    expect(await payloads(server)).toEqual([
      ['root', 'ca', own(server)],
      ['pkcs1', 'ssl', der(leaf)],
      ['pkcs1', 'ssl.2', der(middle)],
      ['root', 'ssl.3', der(root)],
    ]);
  });

  it('contains the root that servers leave out once an admin has stored it', async () => {
    const { root, middle, leaf } = await hierarchy();
    const server = await startWithTls(leaf, middle);
    expect(await anchors(server)).toEqual([own(server), der(leaf), der(middle)]);
    await store(server, root, 'mdm.cacert');
    expect((await payloads(server)).at(-1)).toEqual(['root', 'ssl.3', der(root)]);
    expect(await anchors(server)).toEqual([own(server), der(leaf), der(middle), der(root)]);
  });

  it('contains the anchors that an admin has stored, for example of a proxy, once each', async () => {
    const { root, middle, leaf } = await hierarchy();
    const server = await startWithTls(leaf, middle, root);
    await store(server, root, 'dep.anchor');
    const other = await ecIdentity('P-256', asAuthority);
    await store(server, other, 'dep.anchor');
    const roots = (await payloads(server)).filter(([type]) => type === 'root');
    expect(roots.map(([, , content]) => content)).toEqual([own(server), der(root), der(other)]);
  });

  it('answers HEAD, and other methods with 405', async () => {
    for (const path of [TRUST, '/dep/anchor_certs', '/MDMServiceConfig']) {
      expect((await request(plain.app).head(path)).status).toBe(200);
      for (const method of ['put', 'post', 'delete'] as const) {
        const reply = await request(plain.app)[method](path);
        expect([reply.status, reply.headers.allow]).toEqual([405, 'GET, HEAD']);
      }
    }
  });
});

describe('the anchor certificates', () => {
  it('are missing when a proxy ends TLS and its anchor is not stored', async () => {
    expect(PUBLIC_URL).toMatch(/^https:/);
    expect(await anchors(plain)).toEqual([]);
    const anchor = await ecIdentity('P-256', asAuthority);
    await store(plain, anchor, 'dep.anchor');
    expect(await anchors(plain)).toEqual([own(plain), der(anchor)]);
    await plain.db.knex('certificates').where({ purpose: 'dep.anchor' }).update({
      revoked_at: new Date(),
    });
    expect(await anchors(plain)).toEqual([]);
  });

  it('are the CA of Muster without TLS', async () => {
    const server = await start({ PUBLIC_URL: 'http://localhost:8080' });
    expect(await anchors(server)).toEqual([own(server)]);
  });
});

describe('GET /MDMServiceConfig', () => {
  it('is where Apple Configurator looks up its URLs', async () => {
    const reply = await request(plain.app).get('/MDMServiceConfig').buffer(true).parse(asBuffer);
    expect([reply.status, reply.headers['content-type']]).toEqual([
      200,
      'application/json;charset=utf8',
    ]);
    expect(JSON.parse((reply.body as Buffer).toString())).toEqual({
      dep_enrollment_url: `${PUBLIC_URL}/dep/enroll`,
      dep_anchor_certs_url: `${PUBLIC_URL}/dep/anchor_certs`,
      trust_profile_url: `${PUBLIC_URL}${TRUST}`,
    });
  });
});
