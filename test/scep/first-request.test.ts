import { derOid, derSequence } from '../../src/crypto/asn1/der.js';
import { Oid } from '../../src/crypto/asn1/oids.js';
import { generateEcKeyPair, generateRsaKeyPair, type KeyPair } from '../../src/crypto/keys/keys.js';
import { parseCertificate } from '../../src/crypto/x509/certificate.js';
import {
  buildPkiMessage,
  FailInfo,
  MessageType,
  parsePkiMessage,
} from '../../src/protocol/scep/scep.js';
import { ecIdentity, type Identity, rsaIdentity } from '../crypto/identities.js';
import { withOuterAlgorithm } from '../crypto/x509/two-algorithms.js';
import { nextKeys } from '../helpers/prepared-keys.js';
import {
  ask,
  csrOf,
  deviceCertificates,
  issuedIn,
  liveCertificates,
  post,
  type ScepServer,
  startScepServer,
} from './scep-server.js';
import { sealWithSingleDes } from './single-des.js';

const MINUTE = 60_000;

describe('the first SCEP request of a device', () => {
  let server: ScepServer;
  let signer: Identity;
  let keys: KeyPair;
  let otherKeys: KeyPair;

  beforeAll(async () => {
    [server, signer, otherKeys] = await Promise.all([startScepServer(), rsaIdentity(), nextKeys()]);
    keys = signer;
  });
  afterAll(() => server.drop());
  // Takes the uses of challenges with it.
  beforeEach(() => server.db.knex('certificates').where({ purpose: 'mdm.device' }).delete());

  const challenged = (pair: KeyPair, challengePassword = server.challenges.issueChallenge()) =>
    csrOf(pair, { challengePassword });

  const idOf = (challenge: string) =>
    server.challenges.readChallenge(challenge).nonce.toString('hex');

  async function expectRefusal(csr: Buffer, failInfo: number): Promise<void> {
    expect(await ask(server, { csr, signer })).toMatchObject({ status: 'failure', failInfo });
    expect(await deviceCertificates(server)).toEqual([]);
    expect(await server.db.knex('scep_challenges')).toEqual([]);
  }

  it('is refused without a challenge', async () => {
    await expectRefusal(csrOf(keys), FailInfo.badRequest);
  });

  it('is refused with an expired or forged challenge, which is not logged', async () => {
    const expiresAt = new Date(Date.now() - 1);
    const expired = server.challenges.issueChallenge({ expiresAt });
    await expectRefusal(challenged(keys, expired), FailInfo.badRequest);
    await expectRefusal(challenged(keys, 'a-made-up-challenge'), FailInfo.badRequest);
    expect(server.logText()).toContain(
      '"because":["the enrollment challenge is not valid","expired"]',
    );
    expect(server.logText()).not.toContain(expired);
    expect(server.logText()).not.toContain('a-made-up-challenge');
  });

  it('logs no cause when it is refused without one', async () => {
    await expectRefusal(csrOf(keys), FailInfo.badRequest);
    const refused = server.logText().trim().split('\n').at(-1) ?? '';
    const line = JSON.parse(refused) as Record<string, unknown>;
    expect(line).toMatchObject({ msg: 'scep request refused', reason: 'no challenge' });
    expect(Object.keys(line)).not.toContain('because');
    expect(server.logText()).not.toContain('null');
  });

  it('is refused by badAlg for RSA of 1024 bits and for curves beyond P-384', async () => {
    await expectRefusal(challenged(await generateRsaKeyPair(1024)), FailInfo.badAlg);
    await expectRefusal(challenged(await generateEcKeyPair('P-521')), FailInfo.badAlg);
  });

  it('is refused by badMessageCheck when the CSR is not signed by its own key', async () => {
    const { publicKey } = otherKeys;
    const { privateKey } = keys;
    await expectRefusal(challenged({ publicKey, privateKey }), FailInfo.badMessageCheck);
  });

  it('is refused by badAlg when the signer has an EC key, to which nothing can be sealed', async () => {
    const csr = challenged(keys);
    const answer = await ask(server, { csr, signer: await ecIdentity() });
    expect(answer).toMatchObject({ status: 'failure', failInfo: FailInfo.badAlg });
  });

  it('is refused by badRequest for message types other than PKCSReq and RenewalReq', async () => {
    const csr = challenged(keys);
    for (const messageType of [3, 18, MessageType.certPoll, MessageType.getCert, 22, 99]) {
      const answer = await ask(server, { csr, signer, messageType });
      expect(answer).toMatchObject({ status: 'failure', failInfo: FailInfo.badRequest });
    }
    expect(await deviceCertificates(server)).toEqual([]);
  });

  it('gets a client certificate for its key, leaf first and then the CA', async () => {
    const challenge = server.challenges.issueChallenge();
    const answer = await ask(server, { csr: challenged(keys, challenge), signer });
    const leaf = issuedIn(answer);
    expect(answer).toEqual({
      status: 'success',
      certificates: [
        expect.objectContaining({ subject: `CN=${idOf(challenge)},O=Muster` }),
        expect.objectContaining({ fingerprint: server.authority.certificate.fingerprint }),
      ],
    });
    expect(leaf.publicKey.equals(keys.publicKey)).toBe(true);
    expect(leaf.issuerRaw).toEqual(server.authority.certificate.subjectRaw);
    expect(leaf.authorityKeyId).toEqual(server.authority.certificate.subjectKeyId);
    expect(leaf.subjectKeyId).toHaveLength(20);
    expect(leaf.extendedKeyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(leaf.keyUsage).toEqual(['digitalSignature', 'keyEncipherment']);
    expect(leaf.isCa).toBe(false);
    expect(leaf.serial.length).toBeGreaterThan(14);
    expect(server.trust.isTrusted(leaf)).toBe(true);
  });

  it('gets a certificate that is valid from ten minutes ago for a year', async () => {
    const leaf = issuedIn(await ask(server, { csr: challenged(keys), signer }));
    const age = Date.now() - leaf.notBefore.getTime();
    expect(age).toBeGreaterThanOrEqual(10 * MINUTE);
    expect(age).toBeLessThan(11 * MINUTE);
    const days = (leaf.notAfter.getTime() - leaf.notBefore.getTime()) / (24 * 60 * MINUTE);
    expect(Math.floor(days)).toBeGreaterThanOrEqual(365);
    expect(Math.floor(days)).toBeLessThanOrEqual(366);
  });

  it('is recorded with its certificate', async () => {
    const challenge = server.challenges.issueChallenge();
    const leaf = issuedIn(await ask(server, { csr: challenged(keys, challenge), signer }));
    const [use] = await server.db
      .knex('scep_challenges as s')
      .join('certificates as c', 'c.id', 's.certificate_id')
      .select('s.nonce', 's.locked_at', 'c.*');
    expect(use).toMatchObject({
      nonce: server.challenges.readChallenge(challenge).nonce,
      locked_at: null,
      purpose: 'mdm.device',
      subject: `CN=${idOf(challenge)},O=Muster`,
      issuer: server.authority.certificate.subject,
      serial: leaf.serialHex,
      x509_cn: idOf(challenge),
      fingerprint: leaf.fingerprint,
      der: leaf.der,
      is_ca: false,
      revoked_at: null,
    });
  });

  it('may be signed by another key than the one to certify, and have a P-256 or P-384 key', async () => {
    for (const curve of ['P-256', 'P-384'] as const) {
      const pair = await generateEcKeyPair(curve);
      const leaf = issuedIn(await ask(server, { csr: challenged(pair), signer }));
      expect(leaf.publicKey.equals(pair.publicKey)).toBe(true);
      expect(leaf.keyUsage).toEqual(['digitalSignature']);
    }
  });

  it('may be signed by a certificate whose two algorithms differ by a NULL parameter', async () => {
    const absent = derSequence(derOid(Oid.sha256WithRsa));
    const der = withOuterAlgorithm(signer.certificate.der, absent);
    const signerCertificate = parseCertificate(der);
    issuedIn(await ask(server, { csr: challenged(keys), signer, signerCertificate }));
  });

  it('gets a name when it asks for none', async () => {
    const challenge = server.challenges.issueChallenge();
    const csr = csrOf(keys, { challengePassword: challenge, subject: [] });
    const leaf = issuedIn(await ask(server, { csr, signer }));
    expect(leaf.subject).toBe(`CN=${idOf(challenge)},O=Muster`);
  });

  it.each([
    ['aes-128-cbc', 'sha256'],
    ['aes-192-cbc', 'sha256'],
    ['aes-256-cbc', 'sha512'],
    ['des-ede3-cbc', 'sha1'],
  ] as const)('may be sealed by %s and signed over %s', async (cipher, digest) => {
    const answer = await ask(server, { csr: challenged(keys), signer, cipher, digest });
    expect(answer.status).toBe('success');
  });

  it('may be sealed by single DES, and is then answered in 3DES', async () => {
    const { authority, app } = server;
    const message = buildPkiMessage({
      messageType: MessageType.pkcsReq,
      transactionId: 'old',
      senderNonce: Buffer.alloc(8, 1),
      envelope: sealWithSingleDes(challenged(keys), authority.certificate),
      signer,
      digest: 'sha1',
    });
    const { pkiStatus, envelope, recipientNonce } = parsePkiMessage(await post(app, message));
    expect(pkiStatus).toBe(0);
    expect(recipientNonce).toEqual(Buffer.alloc(8, 1));
    expect(envelope.includes(derOid(Oid.desEde3Cbc))).toBe(true);
    expect(await liveCertificates(server)).toHaveLength(1);
  });

  it('gets the same certificate again for the same CSR, also after the challenge is spent', async () => {
    const csr = challenged(keys);
    const first = issuedIn(await ask(server, { csr, signer }));
    const second = issuedIn(await ask(server, { csr, signer }));
    await server.db.knex('scep_challenges').update({ locked_at: new Date() });
    const third = issuedIn(await ask(server, { csr, signer }));
    expect(second.der).toEqual(first.der);
    expect(third.der).toEqual(first.der);
    expect(await deviceCertificates(server)).toHaveLength(1);
  });

  it('is refused when its certificate was revoked, for the same CSR and for another', async () => {
    const challenge = server.challenges.issueChallenge();
    const csr = challenged(keys, challenge);
    await ask(server, { csr, signer });
    await server.db
      .knex('certificates')
      .where({ purpose: 'mdm.device' })
      .update({ revoked_at: new Date() });
    for (const again of [csr, challenged(otherKeys, challenge)]) {
      const answer = await ask(server, { csr: again, signer });
      expect(answer).toMatchObject({ status: 'failure', failInfo: FailInfo.badRequest });
      expect(server.lastReason()).toBe('the certificate of this challenge was revoked');
    }
    expect(await liveCertificates(server)).toEqual([]);
  });

  it('replaces and revokes the earlier certificate until the device has authenticated', async () => {
    const challenge = server.challenges.issueChallenge();
    await ask(server, { csr: challenged(keys, challenge), signer });
    const second = issuedIn(await ask(server, { csr: challenged(otherKeys, challenge), signer }));
    const rows = await deviceCertificates(server);
    expect(rows.map((row) => row.revoked_at !== null)).toEqual([true, false]);
    expect(rows[1]?.der).toEqual(second.der);
    expect(await server.db.knex('scep_challenges')).toHaveLength(1);
    const { knex } = server.db;
    const [replaced] = await knex('certificates').whereNotNull('revoked_at');
    expect(replaced).toMatchObject({ revocation_reason: 'superseded' });
    const { fingerprint } = replaced;
    const pin = { state: 'revoked', device_id: null, not_after: replaced.not_after };
    expect(await knex('device_identities').where({ fingerprint }).first()).toMatchObject(pin);
  });

  it('is refused for another CSR once the challenge is spent', async () => {
    const challenge = server.challenges.issueChallenge();
    const first = issuedIn(await ask(server, { csr: challenged(keys, challenge), signer }));
    await server.db.knex('scep_challenges').update({ locked_at: new Date() });
    const answer = await ask(server, { csr: challenged(otherKeys, challenge), signer });
    expect(answer).toMatchObject({ status: 'failure', failInfo: FailInfo.badRequest });
    const live = await liveCertificates(server);
    expect(live.map(({ der }) => der)).toEqual([first.der]);
  });

  it('leaves one valid certificate when many come at once with one challenge', async () => {
    const challenge = server.challenges.issueChallenge();
    const csrs = [keys, otherKeys, keys, otherKeys].map((pair) => challenged(pair, challenge));
    csrs.push(
      csrOf(keys, { challengePassword: challenge, subject: [{ type: 'CN', value: 'Three' }] }),
    );
    const answers = await Promise.all(csrs.map((csr) => ask(server, { csr, signer })));
    expect(answers.map(({ status }) => status)).toEqual(csrs.map(() => 'success'));
    expect(await liveCertificates(server)).toHaveLength(1);
    expect(await server.db.knex('scep_challenges')).toHaveLength(1);
  });

  it('gets one certificate when the same CSR comes many times at once', async () => {
    const csr = challenged(keys);
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => ask(server, { csr, signer })));
    const fingerprints = answers.map((answer) => issuedIn(answer).fingerprint.toString('hex'));
    expect(new Set(fingerprints).size).toBe(1);
    expect(await deviceCertificates(server)).toHaveLength(1);
  });
});
