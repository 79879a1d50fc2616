import { randomBytes } from 'node:crypto';
import request from 'supertest';
import { Oid } from '../../src/crypto/asn1/oids.js';
import type { KeyPair } from '../../src/crypto/keys/keys.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { insertCertificate } from '../../src/db/pki/certificate-repository.js';
import type { CertificateAuthority } from '../../src/pki/authority/authority.js';
import { makeAuthorityKeys, rotateAuthority } from '../../src/pki/authority/stored-authority.js';
import { certificateRecord } from '../../src/pki/certificates/certificate-record.js';
import { FailInfo, MessageType, parsePkiMessage } from '../../src/protocol/scep/scep.js';
import { ecIdentity, type Identity, identityOf, rsaIdentity } from '../crypto/identities.js';
import { nextKeys } from '../helpers/prepared-keys.js';
import { buildPkcsReq, readCertRep } from '../helpers/scep-client.js';
import {
  asBuffer,
  ask,
  csrOf,
  issuedIn,
  post,
  type ScepServer,
  startScepServer,
} from './scep-server.js';

/** A CA that was just made is valid since ten minutes ago. */
const MINUTE = 60_000;

describe('SCEP after a rotation of the CA', () => {
  let server: ScepServer;
  let signer: Identity;
  let newKeys: KeyPair;
  let former: CertificateAuthority;
  let current: CertificateAuthority;
  /** Of the former CA, pinned to a device. */
  let identity: Identity;

  beforeAll(async () => {
    [server, signer, newKeys] = await Promise.all([
      startScepServer({ identityGrace: 5 * MINUTE }),
      rsaIdentity(),
      nextKeys(),
    ]);
    former = server.authority;
    const certificate = issuedIn(await ask(server, { csr: firstCsr(), signer }));
    identity = { ...signer, certificate };
    await pin(certificate.fingerprint);
    const keys = await makeAuthorityKeys();
    await inTransaction(server.db, (trx) => rotateAuthority(trx, server.box, { keys }));
    await server.trust.reload();
    await server.authorities.reload();
    current = server.authorities.current;
    expect(current.id).not.toBe(former.id);
  });
  afterAll(() => server.drop());

  async function pin(fingerprint: Buffer): Promise<void> {
    const { knex } = server.db;
    const rows = await knex('devices')
      .insert({ udid: randomBytes(8).toString('hex'), enrollment_state: 'enrolled' })
      .returning<{ id: number }[]>('id');
    const device_id = rows[0]?.id;
    await knex('device_identities').insert({ fingerprint, device_id, state: 'active' });
  }

  const firstCsr = (keys: KeyPair = signer) =>
    csrOf(keys, { challengePassword: server.challenges.issueChallenge() });

  const of = ({ certificate }: CertificateAuthority) => ({ caCertificate: certificate });

  it('GetCACert returns the issuing CA', async () => {
    const response = await request(server.app)
      .get('/scep?operation=GetCACert')
      .buffer(true)
      .parse(asBuffer);
    expect(response.headers['content-type']).toBe('application/x-x509-ca-cert');
    expect(response.body).toEqual(current.certificate.der);
  });

  it('a request for the former CA is answered by it, with a certificate of the new one', async () => {
    const answer = await ask(server, { csr: firstCsr(newKeys), signer, ...of(former) });
    expect(issuedIn(answer).issuer).toBe(current.certificate.subject);
    const certificates = answer.status === 'success' ? answer.certificates : [];
    expect(certificates.slice(1).map(({ der }) => der)).toEqual([current.certificate.der]);
  });

  it('a request for the new CA is answered by it', async () => {
    const answer = await ask(server, { csr: firstCsr(newKeys), signer, ...of(current) });
    expect(issuedIn(answer).issuer).toBe(current.certificate.subject);
  });

  it('a repeated request from before the rotation gets the same certificate, with its own CA', async () => {
    const challengePassword = server.challenges.issueChallenge();
    const csr = csrOf(newKeys, { challengePassword });
    const use = issuedIn(await ask(server, { csr, signer, ...of(current) }));
    const old = former.issueDeviceCertificate({ publicKey: newKeys.publicKey, subject: [] });
    const id = await insertCertificate(server.db.knex, certificateRecord(old, 'mdm.device'));
    const replaced = server.db.knex('certificates').where({ fingerprint: use.fingerprint });
    await server.db
      .knex('scep_challenges')
      .where({ certificate_id: replaced.select('id') })
      .update({ certificate_id: id });
    const answer = await ask(server, { csr, signer, ...of(former) });
    const certificates = answer.status === 'success' ? answer.certificates : [];
    expect(certificates.map(({ der }) => der)).toEqual([old.der, former.certificate.der]);
  });

  it('a refusal is signed by the CA that was addressed, too', async () => {
    for (const authority of [former, current]) {
      const answer = await ask(server, { csr: csrOf(newKeys), signer, ...of(authority) });
      expect(answer).toMatchObject({ status: 'failure', failInfo: FailInfo.badRequest });
    }
    const ec = await ecIdentity('P-256');
    const answer = await ask(server, { csr: firstCsr(), signer: ec, ...of(former) });
    expect(answer).toMatchObject({ status: 'failure', failInfo: FailInfo.badAlg });
  });

  it('a message with a broken signature is refused by the CA that it names', async () => {
    const parties = {
      signerCertificate: signer.certificate,
      signerKey: signer.privateKey,
      caCertificate: former.certificate,
      transactionId: 'broken',
      senderNonce: randomBytes(16),
    };
    const message = buildPkcsReq({ ...parties, csr: firstCsr() });
    message[message.length - 1] = (message.at(-1) ?? 0) ^ 1;
    expect(readCertRep(await post(server.app, message), parties)).toEqual({
      status: 'failure',
      failInfo: FailInfo.badMessageCheck,
    });
  });

  it('a message for an unknown CA is refused by the issuing one', async () => {
    const outsider = await rsaIdentity();
    const message = buildPkcsReq({
      signerCertificate: signer.certificate,
      signerKey: signer.privateKey,
      caCertificate: outsider.certificate,
      transactionId: 'elsewhere',
      csr: firstCsr(),
    });
    const answer = parsePkiMessage(await post(server.app, message));
    expect(answer.failInfo).toBe(FailInfo.badMessageCheck);
    expect(answer.signer.der).toEqual(current.certificate.der);
  });

  const renew = (overrides: Partial<Parameters<typeof ask>[1]> = {}) =>
    ask(server, {
      csr: csrOf(newKeys),
      signer: identity,
      messageType: MessageType.renewalReq,
      ...of(current),
      ...overrides,
    });

  it('an identity of the former CA is renewed by the new one', async () => {
    const renewed = issuedIn(await renew());
    expect(renewed.issuer).toBe(current.certificate.subject);
    expect(renewed.subjectRaw).toEqual(identity.certificate.subjectRaw);
    const row = await server.db
      .knex('device_identities')
      .where({ fingerprint: renewed.fingerprint })
      .first('state');
    expect(row).toEqual({ state: 'renewal' });
  });

  async function expired(age: number, issuer: CertificateAuthority): Promise<Identity> {
    const issuedBy = { ...issuer, publicKey: issuer.certificate.publicKey };
    const made = identityOf(signer, {
      issuedBy,
      subject: identity.certificate.subjectRaw,
      extendedKeyUsage: [Oid.clientAuth],
      notBefore: new Date(Date.now() - 9 * MINUTE),
      notAfter: new Date(Date.now() - age),
    });
    const record = certificateRecord(made.certificate, 'mdm.device');
    await insertCertificate(server.db.knex, record);
    return made;
  }

  it('an expired identity is renewed within its grace, of either CA, but only when pinned', async () => {
    for (const authority of [former, current]) {
      const late = await expired(MINUTE, authority);
      expect(await renew({ signer: late })).toMatchObject({ status: 'failure', failInfo: 2 });
      expect(server.lastReason()).toBe('the signer belongs to no device');
      await pin(late.certificate.fingerprint);
      expect(issuedIn(await renew({ signer: late })).issuer).toBe(current.certificate.subject);
    }
    const tooLate = await expired(6 * MINUTE, former);
    await pin(tooLate.certificate.fingerprint);
    expect(await renew({ signer: tooLate })).toMatchObject({ status: 'failure', failInfo: 2 });
    expect(server.lastReason()).toBe('the signer is not trusted');
  });

  it('no identity of a revoked CA is renewed, and it answers no message', async () => {
    const revoked_at = new Date();
    const row = server.db.knex('certificates').where({ id: former.id });
    await row.update({ revoked_at });
    await server.trust.reload();
    await server.authorities.reload();
    expect(await renew()).toMatchObject({ status: 'failure', failInfo: FailInfo.badRequest });
    expect(server.lastReason()).toBe('the signer was not issued by this CA');
    const message = buildPkcsReq({
      signerCertificate: signer.certificate,
      signerKey: signer.privateKey,
      caCertificate: former.certificate,
      transactionId: 'late',
      csr: firstCsr(),
    });
    const answer = parsePkiMessage(await post(server.app, message));
    expect(answer.signer.der).toEqual(current.certificate.der);
    expect(answer.failInfo).toBe(FailInfo.badMessageCheck);
  });
});
