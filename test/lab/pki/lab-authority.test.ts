import { X509Certificate } from 'node:crypto';
import {
  certificatePem,
  createLabAuthority,
  isOfLab,
  issuePushCertificate,
  issueServerCertificate,
  type LabAuthority,
  readLabAuthority,
  writeLabAuthority,
} from '../../../src/lab/pki/lab-authority.js';

const TOPIC =
  /^com\.apple\.mgmt\.External\.[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Extensions 1.2.840.113635.100.6.3.1 and .2, whose value is NULL. */
const ENCODED_MARKS = ['060a2a864886f76364060301', '060a2a864886f76364060302'].map(
  (oid) => `${oid}04020500`,
);

let authority: LabAuthority;

beforeAll(async () => {
  authority = await createLabAuthority();
});

function read({ certificate }: { certificate: { der: Buffer } }): X509Certificate {
  return new X509Certificate(certificate.der);
}

describe('the CA of the lab', () => {
  it('is not the one that issued the certificates of another lab', async () => {
    const other = await createLabAuthority();
    const { certificate } = await issuePushCertificate(other);
    expect(isOfLab(authority, certificate.der)).toBe(false);
    expect(isOfLab(other, certificate.der)).toBe(true);
  });

  it('is a CA, by itself', () => {
    const certificate = read(authority);
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
  });

  it('is written as PEM and read again', () => {
    const pem = writeLabAuthority(authority);
    const again = readLabAuthority(pem);
    expect(again.certificate.der).toEqual(authority.certificate.der);
    expect(again.privateKey.equals(authority.privateKey)).toBe(true);
    expect(certificatePem(authority)).not.toContain('PRIVATE KEY');
  });

  it('issues servers of this machine', async () => {
    const server = read(await issueServerCertificate(authority));
    expect(server.checkIssued(read(authority))).toBe(true);
    expect(server.verify(read(authority).publicKey)).toBe(true);
    expect(server.checkHost('localhost')).toBe('localhost');
    expect(server.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(server.checkIP('::1')).toBe('::1');
    expect(server.checkHost('api.push.apple.com')).toBeUndefined();
    expect(server.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  });
});

describe('a push certificate of the lab', () => {
  it("has the names, the purpose and the extensions of Apple's", async () => {
    const issued = await issuePushCertificate(authority);
    const certificate = read(issued);
    expect(issued.topic).toMatch(TOPIC);
    expect(certificate.subject.split('\n')).toEqual([
      `UID=${issued.topic}`,
      `CN=${issued.certificate.commonName}`,
      'C=US',
    ]);
    expect(issued.certificate.commonName).toMatch(/^APSP:[0-9a-f-]{36}$/);
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(certificate.publicKey.asymmetricKeyDetails?.modulusLength).toBe(2048);
    expect(certificate.checkPrivateKey(issued.privateKey)).toBe(true);
    const hex = issued.certificate.der.toString('hex');
    expect(ENCODED_MARKS.map((mark) => hex.includes(mark))).toEqual([true, true]);
  });

  it('has the requested topic and dates', async () => {
    const notBefore = new Date('2026-01-02T03:04:05Z');
    const notAfter = new Date('2026-02-03T04:05:06Z');
    const topic = 'com.apple.mgmt.External.mine';
    const { certificate } = await issuePushCertificate(authority, { topic, notBefore, notAfter });
    expect(certificate).toMatchObject({ userId: topic, notBefore, notAfter });
  });
});
