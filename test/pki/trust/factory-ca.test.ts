import { randomBytes } from 'node:crypto';
import { generateEcKeyPair, type KeyPair } from '../../../src/crypto/keys/keys.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { parseCertificate, parseCertificates } from '../../../src/crypto/x509/certificate.js';
import { isIssuedBy } from '../../../src/crypto/x509/certificate-path.js';
import { ensureCertificateAuthority } from '../../../src/pki/authority/authority.js';
import { APPLE_FACTORY_CA, FactoryCaTrust } from '../../../src/pki/trust/factory-ca.js';
import {
  asAuthority,
  ecIdentity,
  fixture,
  type Identity,
  identityOf,
} from '../../crypto/identities.js';
import { createTestDatabase } from '../../helpers/database.js';
import { storePreparedAuthority } from '../../helpers/prepared-authority.js';
import { capturingLogger } from '../../http/log-lines.js';

const APPLE_ROOT_SHA256 = 'b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024';
const DAY = 86_400_000;

function one(bytes: Buffer) {
  const [certificate] = parseCertificates(bytes);
  if (certificate === undefined) throw new Error('no certificate');
  return certificate;
}

describe('the factory certificates by which devices sign before they are enrolled', () => {
  const device = one(fixture('cert/device.apple-iphone-device-ca.sha1.pem'));
  const apple = one(Buffer.from(APPLE_FACTORY_CA));
  const trust = new FactoryCaTrust();
  let keys: KeyPair;
  let added: Identity;

  beforeAll(async () => {
    keys = await generateEcKeyPair();
    added = await ecIdentity('P-256', { ...asAuthority, pathLength: 1 });
  });

  const refused = (issuer: string) => ({ ok: false, issuer });
  const leafOf = (issuedBy: Identity, overrides = {}) =>
    identityOf(keys, { issuedBy, ...overrides }).certificate;

  it('are refused from a CA of this server, with the issuer named', async () => {
    const { db, drop } = await createTestDatabase();
    const { logger } = capturingLogger();
    const box = new SecretBox(randomBytes(32));
    await storePreparedAuthority(db, box);
    const authority = await ensureCertificateAuthority({ db, box, logger });
    await drop();
    const { publicKey } = keys;
    const identity = authority.issueDeviceCertificate({ publicKey, subject: [] });
    const { certificate } = authority;
    expect(trust.judge(identity, [certificate])).toEqual(refused(certificate.subject));
  });

  it('are refused from another CA with the same name and key identifier', async () => {
    const impostor = await ecIdentity('P-256', { ...asAuthority, subject: apple.subjectRaw });
    const forged = leafOf(impostor);
    expect(forged.issuer).toBe(device.issuer);
    expect(trust.judge(forged, [impostor.certificate])).toEqual(refused(apple.subject));
    const renamed = {
      ...impostor,
      certificate: { ...impostor.certificate, subjectKeyId: apple.subjectKeyId },
    };
    const closer = leafOf(renamed);
    expect(closer.authorityKeyId).toEqual(apple.subjectKeyId);
    expect(trust.judge(closer, [impostor.certificate])).toEqual(refused(apple.subject));
  });

  it('are refused with a single octet changed', () => {
    const { der } = device;
    const at = der.indexOf(device.subjectRaw) + 20;
    const changed = Buffer.from(der);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(trust.judge(parseCertificate(changed))).toEqual(refused(apple.subject));
  });

  it('are refused for a CA, without the usage to sign, and with an unknown critical extension', () => {
    const factoryCas = new FactoryCaTrust([added.certificate]);
    const bad = [
      { isCa: true },
      { keyUsage: ['keyEncipherment'] },
      { furtherExtensions: [{ oid: '1.2.3.4', critical: true, value: Buffer.from([5, 0]) }] },
    ];
    for (const overrides of bad) {
      expect(factoryCas.judge(leafOf(added, overrides)).ok).toBe(false);
    }
    expect(factoryCas.judge(leafOf(added)).ok).toBe(true);
    expect(trust.judge(apple).ok).toBe(false);
  });

  it('are refused below a certificate that is no CA, or below more CAs than the anchor allows', () => {
    const factoryCas = new FactoryCaTrust([added.certificate]);
    const noCa = identityOf(keys, { issuedBy: added, subject: [{ type: 'CN', value: 'no CA' }] });
    expect(factoryCas.judge(leafOf(noCa), [noCa.certificate]).ok).toBe(false);
    const caOf = (issuedBy: Identity, value: string) =>
      identityOf(keys, {
        ...asAuthority,
        pathLength: 2,
        issuedBy,
        subject: [{ type: 'CN', value }],
      });
    const below = caOf(added, 'below');
    const further = caOf(below, 'further below');
    expect(factoryCas.judge(leafOf(below), [below.certificate]).ok).toBe(true);
    const chain = [below.certificate, further.certificate];
    expect(factoryCas.judge(leafOf(further), chain).ok).toBe(false);
    const many = Array.from({ length: 9 }, () => below.certificate);
    expect(factoryCas.judge(leafOf(below), many).ok).toBe(false);
  });

  it('are refused when only the CAs above the factory CA are trusted', () => {
    const [, ...above] = parseCertificates(fixture('cert/device.apple-chain.pem'));
    const developer = leafOf(added);
    expect(new FactoryCaTrust().judge(developer, above).ok).toBe(false);
  });

  it('are accepted from the published CA, with SHA-1 and after their dates', () => {
    expect(device.notAfter.getTime()).toBeLessThan(Date.now());
    expect(apple.notAfter.getTime()).toBeLessThan(Date.now());
    expect(trust.judge(device)).toEqual({ ok: true });
  });

  it('are issued by the CA that Apple publishes below its root', () => {
    const chain = parseCertificates(fixture('cert/device.apple-chain.pem'));
    const [published, above, root] = chain;
    if (published === undefined || above === undefined || root === undefined) throw new Error();
    expect(apple.der).toEqual(published.der);
    expect(isIssuedBy(apple, above) && isIssuedBy(above, root)).toBe(true);
    expect(root.fingerprint.toString('hex')).toBe(APPLE_ROOT_SHA256);
  });

  it('are accepted from added CAs, whatever their dates', () => {
    const long = { notAfter: new Date(Date.now() - DAY / 2) };
    const old = identityOf(added, { ...asAuthority, ...long });
    const factoryCas = new FactoryCaTrust([old.certificate]);
    expect(factoryCas.judge(leafOf(old, long))).toEqual({ ok: true });
    expect(factoryCas.judge(device)).toEqual({ ok: true });
    expect(trust.judge(leafOf(old, long))).toEqual(refused(old.certificate.subject));
  });
});
