import { randomBytes } from 'node:crypto';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { generateEcKeyPair, type KeyPair } from '../../../src/crypto/keys/keys.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import type { ParsedCertificate } from '../../../src/crypto/x509/certificate.js';
import { insertCertificate } from '../../../src/db/pki/certificate-repository.js';
import {
  type CertificateAuthority,
  ensureCertificateAuthority,
} from '../../../src/pki/authority/authority.js';
import { certificateRecord } from '../../../src/pki/certificates/certificate-record.js';
import { createTrust, type Trust, type TrustSubject } from '../../../src/pki/trust/trust.js';
import { asAuthority, ecIdentity, type Identity, identityOf } from '../../crypto/identities.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { storePreparedAuthority } from '../../helpers/prepared-authority.js';
import { capturingLogger } from '../../http/log-lines.js';

const HOUR = 3_600_000;
const identityGrace = 90 * 24 * HOUR;

describe('trust in a certificate that has expired', () => {
  let database: TestDatabase;
  let authority: CertificateAuthority;
  let own: Identity;
  let keys: KeyPair;
  let trust: Trust;
  const start = new Date();
  let clock = start;

  beforeAll(async () => {
    database = await createTestDatabase();
    const { logger } = capturingLogger();
    const box = new SecretBox(randomBytes(32));
    await storePreparedAuthority(database.db, box);
    authority = await ensureCertificateAuthority({ db: database.db, logger, box });
    own = { ...authority, publicKey: authority.certificate.publicKey };
    keys = await generateEcKeyPair();
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    clock = start;
    trust = await createTrust({ db: database.db, identityGrace, now: () => clock });
  });

  const moveBeyond = (ms: number, { notAfter }: ParsedCertificate) => {
    clock = new Date(notAfter.getTime() + ms);
  };
  const leaf = (overrides: Parameters<typeof identityOf>[1] = {}): ParsedCertificate => {
    const notAfter = new Date(start.getTime() + HOUR);
    const extendedKeyUsage = [Oid.clientAuth];
    return identityOf(keys, { issuedBy: own, notAfter, extendedKeyUsage, ...overrides })
      .certificate;
  };
  const expired = () => ({
    issuer: authority.certificate.fingerprint,
    mayEnroll: false,
    isExpired: true,
  });

  it('ends with the grace, to the millisecond', () => {
    const certificate = leaf();
    moveBeyond(identityGrace + 1, certificate);
    expect(trust.issuerTrustOf({ certificate })).toBeUndefined();
    moveBeyond(identityGrace, certificate);
    expect(trust.issuerTrustOf({ certificate })).toEqual(expired());
  });

  it('does not exist without a grace period', async () => {
    const certificate = leaf();
    moveBeyond(1, certificate);
    const strict = await createTrust({ db: database.db, now: () => clock });
    expect(strict.issuerTrustOf({ certificate })).toBeUndefined();
  });

  it('excludes one that is not valid yet', () => {
    const notBefore = new Date(start.getTime() + HOUR);
    const certificate = leaf({ notBefore, notAfter: new Date(start.getTime() + 2 * HOUR) });
    expect(trust.issuerTrustOf({ certificate })).toBeUndefined();
  });

  it('excludes one that was not trusted while it was valid', () => {
    const forgeries = [
      leaf({ extendedKeyUsage: [Oid.serverAuth] }),
      leaf({ keyUsage: ['keyEncipherment'] }),
      identityOf(keys, { notAfter: new Date(start.getTime() + HOUR) }).certificate,
    ];
    for (const certificate of forgeries) {
      moveBeyond(HOUR, certificate);
      expect(trust.issuerTrustOf({ certificate })).toBeUndefined();
    }
  });

  it('holds for issuerTrustOf only, not for isTrusted', () => {
    const certificate = leaf();
    moveBeyond(HOUR, certificate);
    expect(trust.isTrusted(certificate)).toBe(false);
  });

  it('does not use the decision cached while it was valid', () => {
    const signer: TrustSubject = { certificate: leaf() };
    expect(trust.issuerTrustOf(signer)).toEqual({
      ...expired(),
      mayEnroll: true,
      isExpired: false,
    });
    moveBeyond(0, signer.certificate);
    expect(trust.issuerTrustOf(signer)).toMatchObject({ mayEnroll: true, isExpired: false });
    moveBeyond(1, signer.certificate);
    expect(trust.issuerTrustOf(signer)).toEqual(expired());
    moveBeyond(identityGrace + 1, signer.certificate);
    expect(trust.issuerTrustOf(signer)).toBeUndefined();
  });

  it('holds if its CA has expired since, but not if the CA had expired before', async () => {
    const caEnd = new Date(start.getTime() + 2 * HOUR);
    const ca = await ecIdentity('P-256', { ...asAuthority, notAfter: caEnd });
    await insertCertificate(database.db.knex, certificateRecord(ca.certificate, 'mdm.cacert'));
    await trust.reload();
    const before = leaf({ issuedBy: ca });
    moveBeyond(3 * HOUR, before);
    expect(trust.issuerTrustOf({ certificate: before })).toEqual({
      issuer: ca.certificate.fingerprint,
      mayEnroll: false,
      isExpired: true,
    });
    const beyond = leaf({ issuedBy: ca, notAfter: new Date(caEnd.getTime() + 1000) });
    moveBeyond(HOUR, beyond);
    expect(trust.issuerTrustOf({ certificate: beyond })).toBeUndefined();
  });

  it('ends at once when the CA is revoked', async () => {
    const signer: TrustSubject = { certificate: leaf() };
    moveBeyond(HOUR, signer.certificate);
    expect(trust.issuerTrustOf(signer)).toEqual(expired());
    await database.db.knex('certificates').update({ revoked_at: clock });
    await trust.reload();
    expect(trust.issuerTrustOf(signer)).toBeUndefined();
    await database.db.knex('certificates').update({ revoked_at: null });
  });
});
