import { generateRsaKeyPair, type KeyPair } from '../../src/crypto/keys/keys.js';
import { type ParsedCertificate, parseCertificate } from '../../src/crypto/x509/certificate.js';
import { promoteRenewal } from '../../src/db/device-path/check-ins.js';
import { FailInfo, MessageType } from '../../src/protocol/scep/scep.js';
import { type Identity, identityOf, rsaIdentity } from '../crypto/identities.js';
import { nextKeys } from '../helpers/prepared-keys.js';
import {
  ask,
  csrOf,
  deviceCertificates,
  issuedIn,
  type ScepServer,
  startScepServer,
} from './scep-server.js';

const refused = { status: 'failure', failInfo: FailInfo.badRequest };

describe('a SCEP renewal', () => {
  let server: ScepServer;
  let signer: Identity;
  let newKeys: KeyPair;
  /** The identity from the enrollment. */
  let identity: Identity;
  let deviceId: number;

  beforeAll(async () => {
    [server, signer, newKeys] = await Promise.all([startScepServer(), rsaIdentity(), nextKeys()]);
  });
  afterAll(() => server.drop());

  beforeEach(async () => {
    const { knex } = server.db;
    await knex('devices').delete();
    await knex('device_identities').delete();
    const csr = csrOf(signer, { challengePassword: server.challenges.issueChallenge() });
    const certificate = issuedIn(await ask(server, { csr, signer }));
    identity = { ...signer, certificate };
    const device = { udid: 'UDID-1', enrollment_state: 'enrolled' };
    const rows = await knex('devices').insert(device).returning<{ id: number }[]>('id');
    deviceId = rows[0]?.id ?? 0;
    const pin = { fingerprint: certificate.fingerprint, device_id: deviceId, udid: 'UDID-1' };
    await knex('device_identities').insert({ ...pin, state: 'active' });
  });
  afterEach(() => server.db.knex('certificates').where({ purpose: 'mdm.device' }).delete());

  const renew = (overrides: { csr?: Buffer; signer?: Identity } = {}) =>
    ask(server, {
      csr: csrOf(newKeys),
      signer: identity,
      messageType: MessageType.renewalReq,
      ...overrides,
    });

  const states = async () =>
    (await server.db.knex('device_identities').orderBy('created_at').select('state')).map(
      ({ state }: { state: string }) => state,
    );

  async function expectRefusal(answer: Promise<unknown>, reason: string): Promise<void> {
    expect(await answer).toEqual({ ...refused, failInfoText: reason });
    expect(server.lastReason()).toBe(reason);
    expect(await deviceCertificates(server)).toHaveLength(1);
    expect(await states()).toHaveLength(1);
  }

  it('is refused when the signer is self-signed', async () => {
    await expectRefusal(renew({ signer }), 'the signer was not issued by this CA');
  });

  it('is refused when the signer has only the name of the CA as its issuer', async () => {
    const impostor = await rsaIdentity({ subject: server.authority.certificate.subjectRaw });
    const forged = identityOf(signer, {
      issuedBy: impostor,
      subject: identity.certificate.subjectRaw,
    });
    await expectRefusal(renew({ signer: forged }), 'the signer is not trusted');
  });

  it('is refused when the signer is pinned to no device', async () => {
    await server.db.knex('device_identities').delete();
    expect(await renew()).toMatchObject(refused);
    expect(server.lastReason()).toBe('the signer belongs to no device');
    expect(await states()).toEqual([]);
  });

  it.each(['superseded', 'tombstone'])('is refused when the pin is %s', async (state) => {
    await server.db.knex('device_identities').update({ state });
    await expectRefusal(renew(), `the signer is no longer the device's (${state})`);
  });

  it('is refused when the device is gone', async () => {
    await server.db.knex('devices').delete();
    await expectRefusal(renew(), "the signer is no longer the device's (active)");
  });

  it('is refused when the signer was revoked', async () => {
    const device = server.db.knex('certificates').where({ purpose: 'mdm.device' });
    await device.update({ revoked_at: new Date() });
    await expectRefusal(renew(), 'the signer was revoked');
  });

  it.each(['unenrolled', null])('is refused when the device is %s', async (enrollment_state) => {
    await server.db.knex('devices').update({ enrollment_state });
    await expectRefusal(renew(), 'the enrollment of the signer is over');
  });

  it('is refused when the signer has expired', async () => {
    const issuedBy = { ...server.authority, publicKey: server.authority.certificate.publicKey };
    const expired = identityOf(signer, {
      issuedBy,
      subject: identity.certificate.subjectRaw,
      extendedKeyUsage: ['1.3.6.1.5.5.7.3.2'],
      notAfter: new Date(Date.now() - 1000),
    });
    const pin = { fingerprint: expired.certificate.fingerprint };
    await server.db.knex('device_identities').update(pin);
    await server.db
      .knex('certificates')
      .where({ purpose: 'mdm.device' })
      .update({ fingerprint: pin.fingerprint });
    await expectRefusal(renew({ signer: expired }), 'the signer is not trusted');
  });

  it('is refused as a PKCSReq without a challenge', async () => {
    const csr = csrOf(newKeys);
    await expectRefusal(ask(server, { csr, signer: identity }), 'no challenge');
  });

  it('is refused by badAlg for a key that is too small', async () => {
    const csr = csrOf(await generateRsaKeyPair(1024));
    expect(await renew({ csr })).toMatchObject({ status: 'failure', failInfo: FailInfo.badAlg });
  });

  it('gets a certificate of the same name, pinned to the same device until it is used', async () => {
    const renewed = issuedIn(await renew());
    expect(renewed.subjectRaw).toEqual(identity.certificate.subjectRaw);
    expect(renewed.publicKey.equals(newKeys.publicKey)).toBe(true);
    expect(
      await server.db
        .knex('device_identities')
        .orderBy('state')
        .select('fingerprint', 'device_id', 'state', 'udid'),
    ).toEqual([
      {
        fingerprint: identity.certificate.fingerprint,
        device_id: deviceId,
        state: 'active',
        udid: 'UDID-1',
      },
      { fingerprint: renewed.fingerprint, device_id: deviceId, state: 'renewal', udid: 'UDID-1' },
    ]);
    const rows = await deviceCertificates(server);
    expect(rows.map((row) => row.revoked_at)).toEqual([null, null]);
    expect(rows.map(({ der }) => parseCertificate(der).serialHex)).toEqual([
      identity.certificate.serialHex,
      renewed.serialHex,
    ]);
  });

  it.each([
    ['none', []],
    ['another', [{ type: 'CN', value: 'Somebody else' }]],
  ])('keeps the name of the signer when the request has %s', async (_what, subject) => {
    const renewed = issuedIn(await renew({ csr: csrOf(newKeys, { subject }) }));
    expect(renewed.subjectRaw).toEqual(identity.certificate.subjectRaw);
  });

  it('is refused when the signer is itself a renewed one that was not used yet', async () => {
    const renewed = issuedIn(await renew());
    const chained = { ...newKeys, certificate: renewed };
    expect(await renew({ csr: csrOf(signer), signer: chained })).toMatchObject(refused);
    expect(server.lastReason()).toBe('the signer was not used by the device yet');
    expect(await states()).toEqual(['active', 'renewal']);
    await promoteRenewal(server.db, renewed.fingerprint);
    issuedIn(await renew({ csr: csrOf(signer), signer: chained }));
    expect(await states()).toEqual(['superseded', 'active', 'renewal']);
  });

  it('with another key revokes the renewed one that was not used', async () => {
    const first = issuedIn(await renew());
    const second = issuedIn(await renew({ csr: csrOf(signer) }));
    expect(await states()).toEqual(['active', 'revoked', 'renewal']);
    const row = ({ fingerprint }: ParsedCertificate) =>
      server.db
        .knex('certificates')
        .where({ fingerprint })
        .first('revoked_at', 'revocation_reason');
    expect(await row(first)).toMatchObject({ revocation_reason: 'superseded' });
    expect((await row(first)).revoked_at).toBeInstanceOf(Date);
    expect(await row(second)).toEqual({ revoked_at: null, revocation_reason: null });
    expect(issuedIn(await renew({ csr: csrOf(signer) })).der).toEqual(second.der);
  });

  it('leaves one unused certificate when many keys come at once', async () => {
    const pairs = [newKeys, signer, newKeys, signer];
    const answers = await Promise.all(pairs.map((pair) => renew({ csr: csrOf(pair) })));
    expect(answers.map(({ status }) => status)).toEqual(pairs.map(() => 'success'));
    expect((await states()).filter((state) => state === 'renewal')).toHaveLength(1);
    expect((await states()).filter((state) => state === 'active')).toHaveLength(1);
  });

  it('gets the same certificate when it comes again, also at once', async () => {
    const answers = await Promise.all([renew(), renew(), renew()]);
    answers.push(await renew());
    const serials = answers.map((answer) => issuedIn(answer).serialHex);
    expect(new Set(serials).size).toBe(1);
    expect(await states()).toEqual(['active', 'renewal']);
  });
});
