import { randomBytes } from 'node:crypto';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import type { KeyPair } from '../../../src/crypto/keys/keys.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import type { ParsedCertificate } from '../../../src/crypto/x509/certificate.js';
import { connectDatabase } from '../../../src/db/connection/database.js';
import {
  insertCertificate,
  revokeCertificate,
} from '../../../src/db/pki/certificate-repository.js';
import { ChangeFeed } from '../../../src/db/processes/change-feed.js';
import {
  type CertificateAuthority,
  ensureCertificateAuthority,
} from '../../../src/pki/authority/authority.js';
import { certificateRecord } from '../../../src/pki/certificates/certificate-record.js';
import { createTrust, type Trust, type TrustSubject } from '../../../src/pki/trust/trust.js';
import { asAuthority, ecIdentity, type Identity, identityOf } from '../../crypto/identities.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { nextKeys } from '../../helpers/prepared-keys.js';
import { capturingLogger } from '../../http/log-lines.js';

const HOUR = 3_600_000;
const clientAuth = { extendedKeyUsage: [Oid.clientAuth] };

async function until(isSo: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    if (isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('it never came to pass');
}

describe('trust in device certificates', () => {
  let database: TestDatabase;
  let authority: CertificateAuthority;
  let own: Identity;
  let external: Identity;
  let keys: KeyPair;
  let trust: Trust;
  let clock = new Date();

  beforeAll(async () => {
    database = await createTestDatabase();
    const { db } = database;
    const { logger } = capturingLogger();
    [authority, external, keys] = await Promise.all([
      ensureCertificateAuthority({ db, logger, box: new SecretBox(randomBytes(32)) }),
      ecIdentity('P-256', { ...asAuthority, pathLength: 1 }),
      nextKeys(),
    ]);
    own = { ...authority, publicKey: authority.certificate.publicKey };
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    clock = new Date();
    const extraAnchors = [external.certificate];
    trust = await createTrust({ db: database.db, extraAnchors, now: () => clock });
  });

  const leaf = (overrides: Parameters<typeof identityOf>[1] = {}): ParsedCertificate =>
    identityOf(keys, { issuedBy: own, ...clientAuth, ...overrides }).certificate;

  const intermediate = (issuedBy: Identity, overrides: Parameters<typeof identityOf>[1] = {}) =>
    identityOf(keys, {
      ...asAuthority,
      subject: [{ type: 'CN', value: 'Intermediate' }],
      issuedBy,
      ...overrides,
    });

  it('excludes a self-signed certificate', () => {
    expect(trust.isTrusted(identityOf(keys, clientAuth).certificate)).toBe(false);
  });

  it('excludes a certificate with only the right issuer name', () => {
    const impostor = identityOf(keys, {
      ...asAuthority,
      subject: authority.certificate.subjectRaw,
    });
    expect(trust.isTrusted(leaf({ issuedBy: impostor }))).toBe(false);
    expect(trust.isTrusted(leaf({ issuedBy: impostor }), [impostor.certificate])).toBe(false);
  });

  it('excludes a certificate with only the right issuer key', () => {
    const renamed = identityOf(own, {
      ...asAuthority,
      subject: [{ type: 'CN', value: 'Renamed' }],
    });
    expect(trust.isTrusted(leaf({ issuedBy: renamed }))).toBe(false);
  });

  it('excludes a certificate that a device certificate issued', () => {
    const device = identityOf(keys, { issuedBy: own, ...clientAuth });
    expect(trust.isTrusted(leaf({ issuedBy: device }), [device.certificate])).toBe(false);
  });

  it('excludes a certificate before and after its validity', () => {
    expect(trust.isTrusted(leaf({ notAfter: new Date(clock.getTime() - 1000) }))).toBe(false);
    expect(trust.isTrusted(leaf({ notBefore: new Date(clock.getTime() + HOUR) }))).toBe(false);
    const good = leaf();
    expect(trust.isTrusted(good, [], new Date(good.notAfter.getTime() + 1))).toBe(false);
    expect(trust.isTrusted(good, [], good.notAfter)).toBe(true);
  });

  it('excludes certificates that are not for clients', () => {
    expect(trust.isTrusted(leaf({ extendedKeyUsage: [Oid.serverAuth] }))).toBe(false);
    expect(trust.isTrusted(leaf({ keyUsage: ['keyEncipherment'] }))).toBe(false);
    expect(trust.isTrusted(leaf({ isCa: true, keyUsage: ['digitalSignature'] }))).toBe(false);
    expect(trust.isTrusted(authority.certificate)).toBe(false);
  });

  it('excludes certificates below an intermediate that the path length forbids', () => {
    const below = intermediate(own);
    expect(trust.isTrusted(leaf({ issuedBy: below }), [below.certificate])).toBe(false);
  });

  it('excludes certificates below an intermediate that is no CA, expired or may not sign', () => {
    const bad = [
      { isCa: false },
      { keyUsage: ['cRLSign'] as const },
      { notAfter: new Date(clock.getTime() - 1000) },
    ];
    for (const overrides of bad) {
      const below = intermediate(external, overrides);
      expect(trust.isTrusted(leaf({ issuedBy: below }), [below.certificate])).toBe(false);
    }
  });

  it('excludes a chain of more than eight certificates', () => {
    const chain = Array.from({ length: 9 }, () => external.certificate);
    expect(trust.isTrusted(leaf(), chain)).toBe(false);
    expect(trust.isTrusted(leaf(), chain.slice(1))).toBe(true);
  });

  it('includes client certificates of the CA made here and of added ones', () => {
    const { publicKey } = keys;
    expect(trust.isTrusted(authority.issueDeviceCertificate({ publicKey, subject: [] }))).toBe(
      true,
    );
    expect(trust.isTrusted(leaf({ issuedBy: external }))).toBe(true);
    expect(trust.isTrusted(leaf({ extendedKeyUsage: [] }))).toBe(true);
    expect(trust.isTrusted(leaf({ extendedKeyUsage: [Oid.anyExtendedKeyUsage] }))).toBe(true);
  });

  it('includes certificates below intermediates in any order', () => {
    const below = intermediate(external);
    const chain = [authority.certificate, below.certificate];
    expect(trust.isTrusted(leaf({ issuedBy: below }), chain)).toBe(true);
    expect(trust.isTrusted(leaf({ issuedBy: below }))).toBe(false);
  });

  it('caches the decision about a signer for an epoch, but not beyond its validity', () => {
    const certificate = leaf({ notAfter: new Date(clock.getTime() + HOUR) });
    const signer: TrustSubject = { certificate };
    const issuerTrust = {
      issuer: authority.certificate.fingerprint,
      mayEnroll: true,
      isExpired: false,
    };
    expect(trust.issuerTrustOf(signer)).toEqual(issuerTrust);
    expect(signer.trust).toEqual({ epoch: trust.epoch, issuerTrust });
    clock = new Date(clock.getTime() + 2 * HOUR);
    expect(trust.issuerTrustOf(signer)).toBeUndefined();
  });

  it('caches a refusal, too', () => {
    const signer: TrustSubject = { certificate: identityOf(keys, clientAuth).certificate };
    expect(trust.issuerTrustOf(signer)).toBeUndefined();
    expect(signer.trust).toEqual({ epoch: trust.epoch, issuerTrust: undefined });
  });

  it('decides again after a CA was revoked and the CAs were reloaded', async () => {
    const signer: TrustSubject = { certificate: leaf() };
    expect(trust.issuerTrustOf(signer)).toBeDefined();
    await database.db.knex('certificates').update({ revoked_at: clock });
    await trust.reload();
    expect(trust.issuerTrustOf(signer)).toBeUndefined();
    expect(trust.anchors).toEqual([external.certificate]);
    await database.db.knex('certificates').update({ revoked_at: null });
    await trust.reload();
    expect(trust.issuerTrustOf(signer)).toBeDefined();
    expect(trust.anchors).toHaveLength(2);
  });

  it('follows a CA that another process adds or revokes', async () => {
    const elsewhere = connectDatabase({ connectionString: database.connectionString });
    const { logger } = capturingLogger();
    const changes = new ChangeFeed({ db: database.db, logger });
    changes.on('authorities', () => trust.reload());
    await changes.start();
    const added = identityOf(keys, asAuthority);
    const issued = leaf({ issuedBy: added });
    const signer: TrustSubject = { certificate: issued };
    expect(trust.issuerTrustOf(signer)).toBeUndefined();
    const id = await insertCertificate(
      elsewhere.knex,
      certificateRecord(added.certificate, 'mdm.cacert'),
    );
    await until(() => trust.issuerTrustOf(signer) !== undefined);
    expect(trust.issuerTrustOf(signer)?.issuer).toEqual(added.certificate.fingerprint);
    await revokeCertificate(elsewhere.knex, id);
    await until(() => trust.issuerTrustOf(signer) === undefined);
    await changes.stop();
    await elsewhere.close();
  });

  it('decides again when a CA expires', () => {
    const certificate = leaf({
      issuedBy: external,
      notAfter: new Date(external.certificate.notAfter.getTime() + HOUR),
    });
    const signer: TrustSubject = { certificate };
    expect(trust.issuerTrustOf(signer)).toBeDefined();
    const { epoch } = trust;
    clock = new Date(external.certificate.notAfter.getTime() + 1);
    expect(trust.issuerTrustOf(signer)).toBeUndefined();
    expect(trust.epoch).toBe(epoch + 1);
  });
});
