import { X509Certificate } from 'node:crypto';
import { derTime } from '../../../src/crypto/asn1/der.js';
import { encodePem } from '../../../src/crypto/asn1/pem.js';
import {
  issueCertificate,
  type ParsedCertificate,
  parseCertificate,
  parseCertificates,
} from '../../../src/crypto/x509/certificate.js';
import {
  asAuthority,
  codeOf,
  ecIdentity,
  fixture,
  type Identity,
  mutations,
  rsaIdentity,
} from '../identities.js';

function only(path: string): ParsedCertificate {
  const [certificate] = parseCertificates(fixture(path));
  if (certificate === undefined) throw new Error('no certificate');
  return certificate;
}

function splice(bytes: Buffer, from: Buffer, to: Buffer): Buffer {
  const at = bytes.indexOf(from);
  if (at < 0 || from.length !== to.length) throw new Error('cannot splice');
  return Buffer.concat([bytes.subarray(0, at), to, bytes.subarray(at + from.length)]);
}

describe('parseCertificate', () => {
  const { der } = only('cert/device.apple-iphone-device-ca.sha1.pem');

  it('refuses a certificate truncated at any length', () => {
    for (let length = 0; length < der.length; length += 1) {
      expect(codeOf(() => parseCertificate(der.subarray(0, length)))).toBe('invalid_certificate');
    }
  });

  it('refuses trailing bytes, and more bytes than any certificate has', () => {
    const trailing = Buffer.concat([der, Buffer.alloc(1)]);
    expect(codeOf(() => parseCertificate(trailing))).toBe('invalid_certificate');
    expect(codeOf(() => parseCertificate(Buffer.alloc(70_000, 0x30)))).toBe('invalid_certificate');
  });

  it('refuses a certificate whose two signature algorithms differ', () => {
    const sha1 = Buffer.from('300d06092a864886f70d010105', 'hex');
    const sha256 = Buffer.from('300d06092a864886f70d01010b', 'hex');
    expect(codeOf(() => parseCertificate(splice(der, sha1, sha256)))).toBe('invalid_certificate');
  });

  it('refuses an unknown version and a version without extensions that has some', () => {
    const version3 = Buffer.from('a003020102', 'hex');
    for (const other of ['a003020103', 'a003020101']) {
      const altered = splice(der, version3, Buffer.from(other, 'hex'));
      expect(codeOf(() => parseCertificate(altered))).toBe('invalid_certificate');
    }
  });

  it('refuses a repeated extension', () => {
    const subjectKeyId = Buffer.from('0603551d0e', 'hex');
    const keyUsage = Buffer.from('0603551d0f', 'hex');
    const altered = splice(der, subjectKeyId, keyUsage);
    expect(codeOf(() => parseCertificate(altered))).toBe('invalid_certificate');
  });

  it('throws nothing but an AppError for 2,000 mutations', () => {
    for (const mutation of mutations(der, 2000)) {
      const code = codeOf(() => parseCertificate(mutation).publicKey);
      expect([undefined, 'invalid_certificate']).toContain(code);
    }
  });

  it('refuses files without a certificate', () => {
    expect(codeOf(() => parseCertificates(Buffer.alloc(0)))).toBe('invalid_certificate');
    const key = fixture('cert/push.test-pair.key');
    expect(codeOf(() => parseCertificates(key))).toBe('invalid_certificate');
    const broken = Buffer.from(encodePem('CERTIFICATE', Buffer.from('no')));
    expect(codeOf(() => parseCertificates(broken))).toBe('invalid_certificate');
  });

  it('reads a device certificate of Apple', () => {
    const certificate = parseCertificate(der);
    expect(certificate).toMatchObject({
      subject: 'CN=6001A957-6FC5-4856-8C5E-DC2E32C61CB9',
      issuer: 'CN=Apple iPhone Device CA,OU=Apple iPhone,O=Apple Inc.,C=US',
      commonName: '6001A957-6FC5-4856-8C5E-DC2E32C61CB9',
      userId: undefined,
      serialHex: '0135401dc29b65dc3784',
      notBefore: new Date('2018-11-08T14:36:36Z'),
      notAfter: new Date('2019-11-08T14:41:36Z'),
      isCa: false,
      pathLength: undefined,
      keyUsage: ['digitalSignature', 'keyEncipherment'],
      extendedKeyUsage: ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'],
      unknownCriticalExtensions: [],
    });
    expect(certificate.subjectKeyId?.toString('hex')).toBe(
      'b50ec1cf0d76abc748ae3815e77cf65e1d4dc262',
    );
    expect(certificate.authorityKeyId?.toString('hex')).toBe(
      'b2fe21234486956a79d581268e7310d8a74c8e74',
    );
    expect(certificate.publicKey.asymmetricKeyDetails?.modulusLength).toBe(1024);
  });

  it('reads the topic of a push certificate, of version 1 and without extensions', () => {
    const certificate = only('cert/push.mock.pem');
    expect(certificate.userId).toBe('com.apple.mgmt.External.18a16429-886b-41f1-9c30-2bd04ae4fc37');
    expect(certificate.commonName).toBe('APSP:17a16429-886b-41f1-8c90-3bd02ae9fc57');
    expect(certificate.serialHex).toBe('c7f665773b59fb4b');
    expect(certificate.notAfter).toEqual(new Date('2068-01-25T08:33:25Z'));
    expect(certificate.keyUsage).toBeUndefined();
    expect(only('cert/push.mock-no-uid.pem').userId).toBeUndefined();
  });

  it.each([
    'cert/device.apple-iphone-device-ca.sha1.pem',
    'cert/push.mock.pem',
    'cert/push.test-pair.pem',
    'signature/mdm-signature.made-1.identity.pem',
    'signature/mdm-signature.made.ca.pem',
  ])('agrees with node on %s', (path) => {
    const ours = only(path);
    const nodes = new X509Certificate(ours.der);
    expect(ours.fingerprint.toString('hex')).toBe(
      nodes.fingerprint256.replace(/:/g, '').toLowerCase(),
    );
    expect(ours.serialHex).toBe(nodes.serialNumber.toLowerCase());
    expect(ours.notBefore).toEqual(new Date(nodes.validFrom));
    expect(ours.notAfter).toEqual(new Date(nodes.validTo));
    expect(ours.publicKey.equals(nodes.publicKey)).toBe(true);
    expect(ours.isCa).toBe(nodes.ca);
  });
});

describe('issueCertificate', () => {
  let authority: Identity;
  beforeAll(async () => {
    authority = await rsaIdentity(asAuthority);
  });

  it('issues an authority with path length, critical key usage and key identifiers', () => {
    const { certificate } = authority;
    expect(certificate).toMatchObject({
      subject: 'CN=Example CA,O=Example',
      issuer: 'CN=Example CA,O=Example',
      isCa: true,
      pathLength: 0,
      keyUsage: ['keyCertSign', 'cRLSign'],
      extendedKeyUsage: [],
    });
    expect(certificate.authorityKeyId).toEqual(certificate.subjectKeyId);
    expect(new X509Certificate(certificate.der).verify(authority.publicKey)).toBe(true);
  });

  it('adds further extensions to its own', async () => {
    const { publicKey } = await ecIdentity();
    const der = issueCertificate({
      subject: [{ type: 'CN', value: 'further' }],
      publicKey,
      issuer: authority.certificate,
      issuerKey: authority.privateKey,
      notBefore: new Date('2026-01-01T00:00:00Z'),
      notAfter: new Date('2027-01-01T00:00:00Z'),
      keyUsage: ['digitalSignature'],
      furtherExtensions: [
        { oid: '1.2.840.113635.100.6.3.1', critical: false, value: Buffer.from([5, 0]) },
        { oid: '1.2.3', critical: true, value: Buffer.from([5, 0]) },
      ],
    });
    expect(parseCertificate(der)).toMatchObject({
      keyUsage: ['digitalSignature'],
      unknownCriticalExtensions: ['1.2.3'],
    });
    const notCritical = '060a2a864886f7636406030104020500';
    expect(der.toString('hex')).toContain(notCritical);
  });

  it('issues for RSA and EC keys under RSA and EC authorities', async () => {
    const ecAuthority = await ecIdentity('P-384', asAuthority);
    for (const issuedBy of [authority, ecAuthority]) {
      for (const { certificate } of [
        await rsaIdentity({ issuedBy }),
        await ecIdentity('P-256', { issuedBy }),
      ]) {
        const nodes = new X509Certificate(certificate.der);
        expect(nodes.verify(issuedBy.publicKey)).toBe(true);
        expect(nodes.checkIssued(new X509Certificate(issuedBy.certificate.der))).toBe(true);
        expect(certificate.authorityKeyId).toEqual(issuedBy.certificate.subjectKeyId);
        expect(certificate.issuerRaw).toEqual(issuedBy.certificate.subjectRaw);
      }
    }
  });

  it('chooses a new positive serial number of up to 128 bits each time', async () => {
    const keys = await ecIdentity();
    const serials = new Set<string>();
    for (let issued = 0; issued < 50; issued += 1) {
      const der = issueCertificate({
        subject: [],
        publicKey: keys.publicKey,
        issuerKey: keys.privateKey,
        notBefore: new Date(),
        notAfter: new Date(),
        keyUsage: [],
      });
      const { serial, serialHex } = parseCertificate(der);
      expect(serial[0]).toBeLessThan(0x80);
      expect(serial.length).toBeLessThanOrEqual(17);
      expect(serialHex.length).toBeLessThanOrEqual(32);
      serials.add(serialHex);
    }
    expect(serials.size).toBe(50);
  });

  it('writes the alternative names and reads them back, critical under an empty subject', async () => {
    const subjectAltName = [
      { type: 'dns', value: 'mdm.example.org' },
      { type: 'email', value: 'a@example.org' },
      { type: 'uri', value: 'https://example.org/' },
      { type: 'ip', value: '192.0.2.1' },
      { type: 'ip', value: '2001:db8::1' },
      { type: 'upn', value: 'jané@example.org' },
    ] as const;
    const { certificate } = await ecIdentity('P-256', { subject: [], subjectAltName });
    expect(certificate.subject).toBe('');
    expect(certificate.subjectAltNames).toEqual([
      ...subjectAltName.slice(0, 4),
      { type: 'ip', value: '2001:0db8:0000:0000:0000:0000:0000:0001' },
      { type: 'upn', value: 'jané@example.org' },
    ]);
    expect(certificate.der.includes(Buffer.from('0603551d110101ff', 'hex'))).toBe(true);
    expect(new X509Certificate(certificate.der).checkHost('mdm.example.org')).toBe(
      'mdm.example.org',
    );
  });

  it('copies a subject and alternative names as they were encoded', async () => {
    const model = await ecIdentity('P-256', { subjectAltName: [{ type: 'dns', value: 'a.b' }] });
    const wanted = Buffer.from('300582032a2e63', 'hex');
    const { certificate } = await ecIdentity('P-256', {
      subject: model.certificate.subjectRaw,
      subjectAltName: wanted,
    });
    expect(certificate.subjectRaw).toEqual(model.certificate.subjectRaw);
    expect(certificate.subjectAltNames).toEqual([{ type: 'dns', value: '*.c' }]);
  });

  it('writes the usages, purposes, serial number and times of its options', async () => {
    const { certificate } = await ecIdentity('P-256', {
      serial: Buffer.from('00ff01', 'hex'),
      keyUsage: ['digitalSignature', 'decipherOnly'],
      extendedKeyUsage: ['1.3.6.1.5.5.7.3.2', '1.2.3'],
      notBefore: new Date('2026-11-21T07:54:34.900Z'),
      notAfter: new Date('2051-01-01T00:00:00Z'),
    });
    expect(certificate).toMatchObject({
      serialHex: 'ff01',
      keyUsage: ['digitalSignature', 'decipherOnly'],
      extendedKeyUsage: ['1.3.6.1.5.5.7.3.2', '1.2.3'],
      notBefore: new Date('2026-11-21T07:54:34Z'),
      notAfter: new Date('2051-01-01T00:00:00Z'),
    });
    expect(certificate.der.includes(derTime(new Date('2051-01-01T00:00:00Z')))).toBe(true);
  });

  it('lists critical extensions that it does not understand', async () => {
    const { certificate } = await ecIdentity();
    // 2.5.29.15, key usage, becomes 2.5.29.36, policy constraints: critical, and not understood.
    const keyUsage = Buffer.from('0603551d0f0101ff', 'hex');
    const altered = splice(certificate.der, keyUsage, Buffer.from('0603551d240101ff', 'hex'));
    expect(parseCertificate(altered).unknownCriticalExtensions).toEqual(['2.5.29.36']);
  });
});
