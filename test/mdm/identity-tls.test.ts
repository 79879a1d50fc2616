import { randomUUID } from 'node:crypto';
import { Agent } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { generateEcKeyPair, type KeyPair } from '../../src/crypto/keys/keys.js';
import { buildPlist } from '../../src/protocol/plist/plist.js';
import { asAuthority, type Identity, identityOf, rsaIdentity } from '../crypto/identities.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, deviceKeys, issueIdentity } from '../helpers/device.js';
import { nextKeys } from '../helpers/prepared-keys.js';
import { removeTemporaryDirectories } from '../helpers/temporary-directory.js';
import { temporaryTls } from '../helpers/tls.js';
import { CertifiedDevice, type CertifiedKeys, certificatePem, keyPem } from './certified-device.js';
import { dumpRows } from './rows.js';

let app: TestApp;
let outsider: Identity;

beforeAll(async () => {
  app = await startApp({
    env: { ...(await temporaryTls()), TLS_CLIENT_CERT: 'on' },
    isSweeping: false,
  });
  outsider = await rsaIdentity(asAuthority);
});
afterAll(async () => {
  await app.stop();
  removeTemporaryDirectories();
});

/** Keys with a certificate of the app's CA. */
async function issued(keys?: KeyPair): Promise<CertifiedKeys> {
  const pair = keys ?? (await deviceKeys());
  return { ...pair, certificate: issueIdentity(app.authority, pair) };
}

async function createDevice(keys?: KeyPair): Promise<CertifiedDevice> {
  const own = await issued(keys);
  return new CertifiedDevice(app, own, own);
}

describe('at a TLS connection', () => {
  it.each<[string, () => Promise<CertifiedKeys | undefined>]>([
    ['without a certificate', async () => undefined],
    [
      'with a certificate of a CA unknown here',
      async () => identityOf(await deviceKeys(), { issuedBy: outsider }),
    ],
    ['with a self-signed certificate', async () => identityOf(await deviceKeys())],
    [
      'with an intermediate of a CA unknown here',
      async () => ({
        ...identityOf(await deviceKeys(), { issuedBy: outsider }),
        chain: [outsider.certificate],
      }),
    ],
  ])('nothing is stored %s: 400', async (_what, shown) => {
    const device = new CertifiedDevice(app, await shown(), await issued());
    const before = await dumpRows(app.db);
    for (const reply of [await device.authenticate(), await device.idle()]) {
      expect([reply.status, reply.body.length]).toEqual([400, 0]);
    }
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('a certificate does not replace a valid signature', async () => {
    const device = await (await createDevice()).enroll();
    const message = { Status: 'Idle', ...device.ids };
    for (const signature of ['', 'AAAA', device.sign(Buffer.from('something else'))]) {
      expect((await device.send(message, { signature })).status).toBe(400);
    }
    expect((await device.send(message)).status).toBe(200);
  });

  it('a right signature counts, whatever certificate the connection has', async () => {
    const [own, other] = [await issued(), await issued(await generateEcKeyPair())];
    const device = await new CertifiedDevice(app, own, own).enroll();
    const borrowed = new CertifiedDevice(app, other, own, device.ids);
    const message = buildPlist({ Status: 'Idle', ...device.ids });
    expect((await borrowed.send(message)).status).toBe(403);
    const signature = borrowed.sign(message);
    expect((await borrowed.send(message, { signature })).status).toBe(200);
  });

  it('the certificate of one device does not identify another', async () => {
    const [one, other] = [await createDevice(), await createDevice()];
    await one.enroll();
    await other.enroll();
    const own = await issued();
    const thief = new CertifiedDevice(
      app,
      { ...own, certificate: one.certificate },
      own,
      other.ids,
    );
    for (const reply of [await thief.idle(), await thief.tokenUpdate(), await thief.checkOut()]) {
      expect([reply.status, reply.body.length]).toEqual([403, 0]);
    }
    expect((await other.idle()).status).toBe(200);
  });

  it.each(['revoked', 'superseded'])('a certificate that is %s is refused', async (state) => {
    const device = await (await createDevice()).enroll();
    const { fingerprint } = device.certificate;
    await app.db.knex('device_identities').where({ fingerprint }).update({ state });
    const reply = await device.idle();
    expect([reply.status, reply.body.length]).toEqual([403, 0]);
  });
});

describe('a device that never signs', () => {
  it.each<[string, () => Promise<KeyPair>]>([
    ['RSA', () => nextKeys()],
    ['P-256', () => generateEcKeyPair('P-256')],
    ['P-384', () => generateEcKeyPair('P-384')],
  ])('enrolls and works through its commands with a key of %s', async (_what, makeKeys) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const own = await issued(await makeKeys());
    const device = await new CertifiedDevice({ ...app, agent }, own, own).enroll();
    let offer = commandIn(await device.idle());
    const done: unknown[] = [];
    while (offer !== undefined && done.length < 20) {
      done.push(offer.command.RequestType);
      offer = commandIn(await device.report(offer.uuid));
    }
    agent.destroy();
    expect(done).toContain('DeviceInformation');
    const { body } = await adminApi(app).get(`/devices?filter[udid]=${device.udid}`);
    expect(body.data[0].attributes.is_enrolled).toBe(true);
    const commands = await app.db
      .knex('commands')
      .where({ device_id: body.data[0].id })
      .whereNotNull('acknowledged_at');
    expect(commands).toHaveLength(done.length);
    const pins = await app.db.knex('device_identities').where({ device_id: body.data[0].id });
    expect(pins).toMatchObject([{ fingerprint: own.certificate.fingerprint, state: 'active' }]);
  });

  it('may send the intermediates between its certificate and a CA known here', async () => {
    const keys = await deviceKeys();
    const root = await rsaIdentity({ ...asAuthority, pathLength: 2 });
    const intermediate = await rsaIdentity({
      ...asAuthority,
      subject: [{ type: 'CN', value: 'Between' }],
      issuedBy: root,
    });
    const attributes = { pem_certificate: certificatePem(root.certificate) };
    const data = { type: 'certificates', attributes };
    expect((await adminApi(app).post('/ca_certificates', { data })).status).toBe(201);
    const url = 'https://ca.example.com/scep';
    await adminApi(app).patch('/configuration/scep', { source_type: 'ExternalSCEP', url });
    const own = identityOf(keys, { issuedBy: intermediate });
    const bare = new CertifiedDevice(app, own, own);
    expect((await bare.authenticate()).status).toBe(400);
    const chain = [intermediate.certificate];
    const device = new CertifiedDevice(app, { ...own, chain }, own, bare.ids);
    await device.enroll();
    for (let time = 0; time < 3; time += 1) expect((await device.idle()).status).toBe(200);
    await adminApi(app).patch('/configuration/scep', { source_type: null, url: null });
  });

  it('is identified on each connection, as no connection resumes the session of another', async () => {
    const own = await issued();
    const device = await new CertifiedDevice(app, own, own).enroll();
    const { port } = new URL(app.url);
    const shake = (session?: Buffer) =>
      new Promise<{ socket: TLSSocket; session: Buffer | undefined }>((resolve, reject) => {
        const socket = connect({
          host: '127.0.0.1',
          port: Number(port),
          rejectUnauthorized: false,
          cert: certificatePem(own.certificate),
          key: keyPem(own),
          session,
        });
        socket.on('error', reject);
        socket.on('secureConnect', () => {
          socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
          socket.once('data', () => resolve({ socket, session: socket.getSession() }));
        });
      });
    const first = await shake();
    first.socket.destroy();
    const second = await shake(first.session);
    expect(second.socket.isSessionReused()).toBe(false);
    second.socket.destroy();
    expect((await device.idle()).status).toBe(200);
  });
});

it('without TLS_CLIENT_CERT no certificate of a connection counts', async () => {
  const plain = await startApp({ env: await temporaryTls(), isSweeping: false });
  const keys = await deviceKeys();
  const own = { ...keys, certificate: issueIdentity(plain.authority, keys) };
  const device = new CertifiedDevice(plain, own, own, { UDID: randomUUID() });
  const reply = await device.authenticate();
  expect(reply.status).toBe(400);
  expect(await plain.db.knex('devices')).toEqual([]);
  await plain.stop();
});
