import { createHash, randomUUID } from 'node:crypto';
import { type ParsedCertificate, parseCertificate } from '../../src/crypto/certificate.js';
import { importPrivateKey, type KeyPair } from '../../src/crypto/keys.js';
import { decodePem, encodePem } from '../../src/crypto/pem.js';
import { type OpenSsl, openSsl } from '../crypto/openssl.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, TestDevice } from '../helpers/device.js';

const SCEP = '/configuration/scep';
const URL = 'https://ca.example.com/scep';

let app: TestApp;
let tool: OpenSsl;

interface Made extends KeyPair {
  certificate: ParsedCertificate;
}

function readMade(name: string): Made {
  const [block] = decodePem(tool.read(`${name}.pem`).toString('utf8'));
  if (block === undefined) throw new Error(`${name}.pem holds no certificate`);
  const certificate = parseCertificate(block.der);
  const privateKey = importPrivateKey(tool.read(`${name}.key`));
  return { certificate, privateKey, publicKey: certificate.publicKey };
}

function makeAuthority(name: string): Made {
  tool.run(
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-sha256', '-days', '30'],
    ...['-subj', `/O=Corporate/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.pem`],
    ...['-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
  );
  return readMade(name);
}

function makeIdentity(name: string, issuer: string): Made {
  tool.run(
    ...['req', '-new', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${name}`],
    ...['-keyout', `${name}.key`, '-out', `${name}.csr`],
  );
  tool.write('extensions', 'keyUsage=digitalSignature\nextendedKeyUsage=clientAuth\n');
  tool.run(
    ...['x509', '-req', '-in', `${name}.csr`, '-sha256', '-days', '30', '-set_serial', '7'],
    ...['-CA', `${issuer}.pem`, '-CAkey', `${issuer}.key`, '-extfile', 'extensions'],
    ...['-out', `${name}.pem`],
  );
  return readMade(name);
}

function deviceOf(identity: Made): TestDevice {
  return new TestDevice(app.url, identity, identity.certificate, { UDID: randomUUID() });
}

async function upload({ certificate }: Made): Promise<void> {
  const pem_certificate = encodePem('CERTIFICATE', certificate.der);
  const data = { type: 'certificates', attributes: { pem_certificate } };
  const reply = await adminApi(app).post('/ca_certificates', { data });
  expect(reply.status).toBe(201);
}

/** The status that a device of its own with this identity enrolls with. */
async function enrolls(identity: Made): Promise<number> {
  return (await deviceOf(identity).authenticate()).status;
}

let corporate: Made;
let other: Made;
let ofCorporate: Made;
let ofOther: Made;
let ofUnknown: Made;

beforeAll(async () => {
  app = await startApp();
  tool = openSsl();
  corporate = makeAuthority('corporate');
  other = makeAuthority('other');
  makeAuthority('unknown');
  ofCorporate = makeIdentity('one', 'corporate');
  ofOther = makeIdentity('two', 'other');
  ofUnknown = makeIdentity('three', 'unknown');
  await Promise.all([corporate, other].map(upload));
});
afterAll(async () => {
  tool.remove();
  await app.stop();
});
beforeEach(() => app.db.knex('device_identities').delete());
afterEach(async () => {
  expect((await adminApi(app).patch(SCEP, { source_type: null, url: null })).status).toBe(200);
  await adminApi(app).patch(SCEP, { ca_fingerprint: null });
});

async function configure(attributes: object): Promise<void> {
  const reply = await adminApi(app).patch(SCEP, attributes);
  expect(reply.status).toBe(200);
}

describe('a CA that was uploaded without its key', () => {
  it('vouches for nobody while devices get their certificates here', async () => {
    await configure({ source_type: 'InternalSCEP' });
    for (const identity of [ofCorporate, ofOther, ofUnknown]) {
      expect(await enrolls(identity)).toBe(400);
    }
    expect(await app.db.knex('device_identities').select()).toEqual([]);
  });

  it('vouches for devices as long as they are sent to an external CA', async () => {
    await configure({ source_type: 'ExternalSCEP', url: URL });
    const device = await deviceOf(ofCorporate).enroll();
    expect(commandIn(await device.idle())?.command).toMatchObject({
      RequestType: 'DeviceInformation',
    });
    expect(await enrolls(ofOther)).toBe(200);
    expect(await enrolls(ofUnknown)).toBe(400);

    await configure({ source_type: 'InternalSCEP' });
    expect((await device.idle()).status).toBe(400);
    await configure({ source_type: 'ExternalSCEP', url: URL });
    expect((await device.idle()).status).toBe(200);
  });

  it.each(['sha1', 'md5'])('is the only one that a fingerprint by %s names', async (digest) => {
    const ca_fingerprint = createHash(digest).update(corporate.certificate.der).digest('hex');
    await configure({ source_type: 'ExternalSCEP', url: URL, ca_fingerprint });
    expect(await enrolls(ofOther)).toBe(400);
    expect(await enrolls(ofCorporate)).toBe(200);
    await configure({ ca_fingerprint: '00'.repeat(ca_fingerprint.length / 2) });
    expect((await deviceOf(ofCorporate).authenticate()).status).toBe(400);
  });

  it('leaves devices with certificates of ours what they are', async () => {
    const device = await (await createTestDevice(app)).enroll();
    await configure({ source_type: 'ExternalSCEP', url: URL });
    expect((await device.idle()).status).toBe(200);
    expect((await (await createTestDevice(app)).authenticate()).status).toBe(200);
  });

  it('is known to another process of the server within seconds', async () => {
    const neighbour = await startApp({ database: app.database });
    await configure({ source_type: 'ExternalSCEP', url: URL });
    const device = new TestDevice(neighbour.url, ofOther, ofOther.certificate, {
      UDID: randomUUID(),
    });
    const end = Date.now() + 10_000;
    let status = 400;
    for (; status === 400 && Date.now() < end; status = (await device.authenticate()).status) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await neighbour.halt();
    expect(status).toBe(200);
  });
});
