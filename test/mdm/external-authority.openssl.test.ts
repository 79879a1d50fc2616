import { createHash, randomUUID } from 'node:crypto';
import { decodePem, encodePem } from '../../src/crypto/asn1/pem.js';
import { importPrivateKey, type KeyPair } from '../../src/crypto/keys/keys.js';
import { type ParsedCertificate, parseCertificate } from '../../src/crypto/x509/certificate.js';
import { type OpenSsl, openSsl } from '../crypto/openssl.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type Reply, TestDevice } from '../helpers/device.js';

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
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-sha256',
    '-days',
    '30',
    '-subj',
    `/O=Corporate/CN=${name}`,
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.pem`,
    '-addext',
    'keyUsage=critical,keyCertSign,cRLSign',
  );
  return readMade(name);
}

function makeIdentity(name: string, issuer: string): Made {
  tool.run(
    'req',
    '-new',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-subj',
    `/CN=${name}`,
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.csr`,
  );
  tool.write('extensions', 'keyUsage=digitalSignature\nextendedKeyUsage=clientAuth\n');
  tool.run(
    'x509',
    '-req',
    '-in',
    `${name}.csr`,
    '-sha256',
    '-days',
    '30',
    '-set_serial',
    '7',
    '-CA',
    `${issuer}.pem`,
    '-CAkey',
    `${issuer}.key`,
    '-extfile',
    'extensions',
    '-out',
    `${name}.pem`,
  );
  return readMade(name);
}

function deviceOf(identity: Made): TestDevice {
  return new TestDevice(app.url, identity, identity.certificate, { UDID: randomUUID() });
}

/** Returns the id. */
async function upload({ certificate }: Made): Promise<number> {
  const pem_certificate = encodePem('CERTIFICATE', certificate.der);
  const data = { type: 'certificates', attributes: { pem_certificate } };
  const reply = await adminApi(app).post('/ca_certificates', { data });
  expect(reply.status).toBe(201);
  return reply.body.data[0].id;
}

/** The status that a device of its own with this identity enrolls with. */
async function enrolls(identity: Made): Promise<number> {
  return statusOf(await deviceOf(identity).authenticate());
}

async function idOf({ udid }: TestDevice): Promise<number> {
  const { id } = await app.db.knex('devices').where({ udid }).first('id');
  return id;
}

/** A refusal never has a body: Apple's would unenroll the device. */
function statusOf({ status, body }: Reply): number {
  if (status !== 200) expect(body).toHaveLength(0);
  return status;
}

let corporate: Made;
let other: Made;
let ofCorporate: Made;
let ofOther: Made;
let ofUnknown: Made;
const ids = new Map<Made, number>();

beforeAll(async () => {
  app = await startApp();
  tool = openSsl();
  corporate = makeAuthority('corporate');
  other = makeAuthority('other');
  makeAuthority('unknown');
  ofCorporate = makeIdentity('one', 'corporate');
  ofOther = makeIdentity('two', 'other');
  ofUnknown = makeIdentity('three', 'unknown');
  for (const made of [corporate, other]) ids.set(made, await upload(made));
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
  it('the CA is not trusted while devices get their certificates from Muster', async () => {
    await configure({ source_type: 'InternalSCEP' });
    expect(await Promise.all([ofCorporate, ofOther].map(enrolls))).toEqual([403, 403]);
    expect(await enrolls(ofUnknown)).toBe(400);
    expect(await app.db.knex('device_identities').select()).toEqual([]);
  });

  it.each(['InternalSCEP', 'ExternalSCEP'])(
    'identifies no device by its certificates alone, with %s',
    async (source_type) => {
      await configure({ source_type, url: URL });
      const known = await (await createTestDevice(app)).enroll();
      for (const device of [deviceOf(ofCorporate), deviceOf(ofCorporate).as(known.ids)]) {
        for (const reply of [
          await device.idle(),
          await device.report(randomUUID()),
          await device.tokenUpdate(),
          await device.checkOut(),
          await device.idle({ UserID: 'u' }),
          await device.checkIn('GetBootstrapToken'),
        ]) {
          expect(statusOf(reply)).toBe(403);
        }
      }
      expect((await known.idle()).status).toBe(200);
    },
  );

  it('enrolls devices as long as they are sent to an external CA', async () => {
    await configure({ source_type: 'ExternalSCEP', url: URL });
    const device = await deviceOf(ofCorporate).enroll();
    expect(commandIn(await device.idle())?.command).toMatchObject({
      RequestType: 'DeviceInformation',
    });
    expect(await enrolls(ofOther)).toBe(200);
    expect(await enrolls(ofUnknown)).toBe(400);
  });

  it('the CA stays trusted for the devices enrolled under it, whichever CA issues new certificates', async () => {
    await configure({ source_type: 'ExternalSCEP', url: URL });
    const device = await deviceOf(ofCorporate).enroll();
    const pins = () => app.db.knex('device_identities').select('fingerprint', 'issuer', 'state');
    const pin = {
      fingerprint: ofCorporate.certificate.fingerprint,
      issuer: corporate.certificate.fingerprint,
      state: 'active',
    };
    expect(await pins()).toEqual([pin]);
    for (const settings of [
      { source_type: 'InternalSCEP' },
      { source_type: 'ExternalSCEP', ca_fingerprint: '00'.repeat(20) },
    ]) {
      await configure(settings);
      for (const reply of [
        await device.idle(),
        await device.authenticate(),
        await device.tokenUpdate(),
      ]) {
        expect(reply.status).toBe(200);
      }
      expect(await enrolls(ofOther)).toBe(403);
      expect(await enrolls(ofCorporate)).toBe(403);
    }
    expect((await device.checkOut()).status).toBe(200);
    expect(statusOf(await device.authenticate())).toBe(403);
    expect(await pins()).toEqual([pin]);
    await adminApi(app).delete(`/devices/${await idOf(device)}`);
    expect([(await device.idle()).status, await enrolls(ofCorporate)]).toEqual([403, 403]);
  });

  it.each(['sha1', 'md5'])('is the only one that a fingerprint by %s names', async (digest) => {
    const ca_fingerprint = createHash(digest).update(corporate.certificate.der).digest('hex');
    await configure({ source_type: 'ExternalSCEP', url: URL, ca_fingerprint });
    expect(await enrolls(ofOther)).toBe(403);
    await configure({ ca_fingerprint: '00'.repeat(ca_fingerprint.length / 2) });
    expect(await enrolls(ofCorporate)).toBe(403);
    await configure({ ca_fingerprint });
    expect(await enrolls(ofCorporate)).toBe(200);
  });

  it('is reported as missing for a configuration that names another CA', async () => {
    const missing = '00'.repeat(20);
    const settings = { source_type: 'ExternalSCEP', url: URL, ca_fingerprint: missing };
    const warned = await adminApi(app).patch(SCEP, settings);
    expect([warned.status, warned.body.meta.warnings]).toEqual([
      200,
      [
        `no stored certificate of an external CA has the ca_fingerprint ${missing}, so no device ` +
          'can enroll: upload it by POST /api/v1/ca_certificates',
      ],
    ]);
    const { body } = await adminApi(app).patch(SCEP, { ca_fingerprint: null });
    expect(body).not.toHaveProperty('meta');
  });

  it('does not affect devices with certificates of Muster', async () => {
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
    let status = 403;
    for (; status === 403 && Date.now() < end; status = (await device.authenticate()).status) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await neighbour.halt();
    expect(status).toBe(200);
  });
});

describe('deleting a CA that was uploaded without its key', () => {
  const path = (made: Made) => `/certificates/${ids.get(made)}`;

  it('is refused while devices are enrolled by its certificates, as is another purpose', async () => {
    await configure({ source_type: 'ExternalSCEP', url: URL });
    const device = await deviceOf(ofCorporate).enroll();
    await configure({ source_type: 'InternalSCEP' });
    const data = {
      type: 'certificates',
      id: ids.get(corporate),
      attributes: { purpose: 'dep.anchor' },
    };
    for (const reply of [
      await adminApi(app).delete(path(corporate)),
      await adminApi(app).patch(path(corporate), { data }),
    ]) {
      expect([reply.status, reply.body.errors[0].code]).toEqual([409, 'in_use']);
      expect(reply.body.errors[0].detail).toMatch(/identities of devices were issued by it/);
    }
    expect((await device.idle()).status).toBe(200);
    await device.checkOut();
    expect((await adminApi(app).delete(path(corporate))).status).toBe(204);
    ids.set(corporate, await upload(corporate));
  });

  it('is possible while only devices of other CAs are enrolled', async () => {
    await configure({ source_type: 'ExternalSCEP', url: URL });
    await deviceOf(ofCorporate).enroll();
    expect((await adminApi(app).delete(path(other))).status).toBe(204);
    ids.set(other, await upload(other));
  });

  it('no device can enroll by it at the same instant', async () => {
    await configure({ source_type: 'ExternalSCEP', url: URL });
    const trx = await app.db.knex.transaction();
    await trx('certificates')
      .where({ id: ids.get(other) })
      .delete();
    const authenticating = enrolls(ofOther);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await trx.commit();
    expect(await authenticating).toBe(403);
    expect(await app.db.knex('device_identities').select()).toEqual([]);
    ids.set(other, await upload(other));
  });
});
