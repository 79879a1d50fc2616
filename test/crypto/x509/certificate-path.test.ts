import { Oid } from '../../../src/crypto/asn1/oids.js';
import { generateEcKeyPair } from '../../../src/crypto/keys/keys.js';
import { parseCertificate, parseCertificates } from '../../../src/crypto/x509/certificate.js';
import {
  allowsPurpose,
  findCertificatePath,
  isIssuedBy,
  isSignedOverSha1,
  isValidAt,
} from '../../../src/crypto/x509/certificate-path.js';
import { asAuthority, ecIdentity, fixture, type Identity, identityOf } from '../identities.js';

const at = new Date();
const day = 86_400_000;
const cn = (value: string) => [{ type: 'CN', value }];

describe('findCertificatePath', () => {
  let root: Identity;
  let middle: Identity;
  let leaf: Identity;

  beforeAll(async () => {
    root = await ecIdentity('P-256', { ...asAuthority, subject: cn('Root'), pathLength: 1 });
    middle = await ecIdentity('P-256', { ...asAuthority, subject: cn('Middle'), issuedBy: root });
    leaf = await ecIdentity('P-256', { extendedKeyUsage: [Oid.clientAuth], issuedBy: middle });
  });

  const find = (certificate: Identity, intermediates: Identity[] = [], anchors = [root]) =>
    findCertificatePath(certificate.certificate, {
      at,
      anchors: anchors.map((anchor) => anchor.certificate),
      intermediates: intermediates.map((intermediate) => intermediate.certificate),
    });

  it('finds none without the intermediate, or without any anchor', () => {
    expect(find(leaf)).toBeUndefined();
    expect(find(leaf, [middle], [])).toBeUndefined();
  });

  it('finds none through a certificate that is no authority', async () => {
    const end = await ecIdentity('P-256', { subject: cn('End'), issuedBy: root });
    const below = await ecIdentity('P-256', { issuedBy: end });
    expect(find(below, [end])).toBeUndefined();
  });

  it('finds none through an authority that may not sign certificates', async () => {
    const signless = { ...asAuthority, keyUsage: ['cRLSign'] as const, subject: cn('Signless') };
    const issuer = await ecIdentity('P-256', { ...signless, issuedBy: root });
    expect(find(await ecIdentity('P-256', { issuedBy: issuer }), [issuer])).toBeUndefined();
  });

  it('finds none through an impostor with the name of the authority', async () => {
    const impostor = await ecIdentity('P-256', { ...asAuthority, subject: cn('Root') });
    const forged = await ecIdentity('P-256', { issuedBy: impostor });
    expect(find(forged)).toBeUndefined();
    const { subjectKeyId: _gone, ...withoutKeyId } = root.certificate;
    const anchor = { ...withoutKeyId, subjectKeyId: undefined };
    expect(findCertificatePath(forged.certificate, { at, anchors: [anchor] })).toBeUndefined();
  });

  it('finds none that is longer than an authority allows', async () => {
    const free = { isCa: true, keyUsage: ['keyCertSign'] as const };
    const second = await ecIdentity('P-256', { ...free, subject: cn('2'), issuedBy: middle });
    const below = await ecIdentity('P-256', { issuedBy: second });
    expect(find(below, [middle, second])).toBeUndefined();
    expect(find(below, [second], [middle])).toBeUndefined();
    expect(find(below, [], [second])?.length).toBe(2);
  });

  it('finds none at a time when one of the certificates is not valid', () => {
    for (const away of [-2 * day, 2 * day]) {
      const options = {
        at: new Date(at.getTime() + away),
        anchors: [root.certificate],
        intermediates: [middle.certificate],
      };
      expect(findCertificatePath(leaf.certificate, options)).toBeUndefined();
    }
  });

  it('ignores the dates of the authorities, or of all certificates, with ignoreDates', () => {
    const options = {
      at: new Date(at.getTime() + 2 * day),
      anchors: [root.certificate],
      intermediates: [middle.certificate],
    };
    const length = (ignoreDates: 'authorities' | 'all', notAfter: Date) =>
      findCertificatePath({ ...leaf.certificate, notAfter }, { ...options, ignoreDates })?.length;
    const { notAfter } = leaf.certificate;
    expect(length('authorities', notAfter)).toBeUndefined();
    expect(length('authorities', new Date(at.getTime() + 3 * day))).toBe(3);
    expect(length('all', notAfter)).toBe(3);
  });

  it('finds none over SHA-1 unless allowed, as in the chain of Apple devices', () => {
    const [device] = parseCertificates(fixture('cert/device.apple-iphone-device-ca.sha1.pem'));
    const [issuer, ...above] = parseCertificates(fixture('cert/device.apple-chain.pem'));
    const [apple] = above.slice(-1);
    if (!device || !issuer || !apple) throw new Error('no chain');
    const options = { at, anchors: [apple], intermediates: [issuer, ...above] };
    const all = { ...options, ignoreDates: 'all' } as const;
    expect(isSignedOverSha1(device)).toBe(true);
    expect(findCertificatePath(device, all)).toBeUndefined();
    expect(findCertificatePath(device, { ...options, allowSha1: true })).toBeUndefined();
    const path = findCertificatePath(device, { ...all, allowSha1: true });
    expect(path?.map(({ commonName }) => commonName).slice(1)).toEqual([
      'Apple iPhone Device CA',
      'Apple iPhone Certification Authority',
      'Apple Root CA',
    ]);
  });

  it('finds none over an authority that is for another purpose', async () => {
    const servers = { ...asAuthority, subject: cn('Servers'), issuedBy: root };
    const issuer = await ecIdentity('P-256', { ...servers, extendedKeyUsage: [Oid.serverAuth] });
    const below = await ecIdentity('P-256', { issuedBy: issuer });
    const options = { at, anchors: [root.certificate], intermediates: [issuer.certificate] };
    expect(findCertificatePath(below.certificate, options)?.length).toBe(3);
    const purpose = Oid.clientAuth;
    expect(findCertificatePath(below.certificate, { ...options, purpose })).toBeUndefined();
    const anchored = { ...options, anchors: [issuer.certificate], purpose };
    expect(findCertificatePath(below.certificate, anchored)).toBeUndefined();
  });

  it('finds none over an expired authority', async () => {
    const expired = await ecIdentity('P-256', {
      ...asAuthority,
      subject: cn('Expired'),
      notAfter: new Date(at.getTime() - 1000),
      issuedBy: root,
    });
    expect(find(await ecIdentity('P-256', { issuedBy: expired }), [expired])).toBeUndefined();
    const own = await ecIdentity('P-256', { issuedBy: expired });
    expect(find(own, [], [expired])).toBeUndefined();
  });

  it('finds none for another purpose or with an unknown critical extension', () => {
    const options = {
      at,
      anchors: [root.certificate],
      intermediates: [middle.certificate],
    };
    const purpose = Oid.serverAuth;
    expect(findCertificatePath(leaf.certificate, { ...options, purpose })).toBeUndefined();
    const odd = { ...leaf.certificate, unknownCriticalExtensions: ['1.2.3'] };
    expect(findCertificatePath(odd, options)).toBeUndefined();
  });

  it('finds none for an altered certificate', () => {
    const der = Buffer.from(leaf.certificate.der);
    der[der.length - 1] = (der[der.length - 1] ?? 0) ^ 1;
    const altered = parseCertificate(der);
    expect(isIssuedBy(altered, middle.certificate)).toBe(false);
  });

  it('ends after a bounded number of checks among many cross-signed authorities', async () => {
    const keys = await generateEcKeyPair();
    const loop = { ...asAuthority, subject: cn('Loop') };
    const { pathLength: _none, ...unlimited } = loop;
    const seed = identityOf(keys, unlimited);
    const copies = Array.from({ length: 20 }, () =>
      identityOf(keys, { ...unlimited, issuedBy: seed }),
    );
    const started = performance.now();
    expect(find(identityOf(keys, { issuedBy: seed }), copies)).toBeUndefined();
    expect(performance.now() - started).toBeLessThan(1000);
  });

  it('finds the path through an intermediate, for that purpose', () => {
    const path = findCertificatePath(leaf.certificate, {
      at,
      purpose: Oid.clientAuth,
      anchors: [root.certificate],
      intermediates: [leaf.certificate, middle.certificate],
    });
    expect(path?.map(({ subject }) => subject)).toEqual(['CN=Signer', 'CN=Middle', 'CN=Root']);
  });

  it('returns an anchor as its own path', () => {
    expect(find(root)).toEqual([root.certificate]);
    expect(find(leaf, [], [leaf])).toEqual([leaf.certificate]);
  });

  it('finds the issuer of the captured device identities', () => {
    const anchors = parseCertificates(fixture('signature/mdm-signature.made.ca.pem'));
    for (const number of [1, 2]) {
      const path = `signature/mdm-signature.made-${number}.identity.pem`;
      const [device] = parseCertificates(fixture(path));
      const when = new Date('2027-01-01T00:00:00Z');
      expect(device && findCertificatePath(device, { at: when, anchors })?.length).toBe(2);
    }
  });
});

describe('certificate checks', () => {
  it('counts both ends of the validity', async () => {
    const { certificate } = await ecIdentity();
    expect(isValidAt(certificate, certificate.notBefore)).toBe(true);
    expect(isValidAt(certificate, certificate.notAfter)).toBe(true);
    expect(isValidAt(certificate, new Date(certificate.notAfter.getTime() + 1))).toBe(false);
  });

  it('allows every purpose without the extension or with the one for any', async () => {
    const plain = await ecIdentity();
    const any = await ecIdentity('P-256', { extendedKeyUsage: [Oid.anyExtendedKeyUsage] });
    expect(allowsPurpose(plain.certificate, Oid.clientAuth)).toBe(true);
    expect(allowsPurpose(any.certificate, Oid.clientAuth)).toBe(true);
  });
});
