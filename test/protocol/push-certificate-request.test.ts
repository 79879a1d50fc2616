import plist from 'plist';
import { parseCertificates } from '../../src/crypto/x509/certificate.js';
import { buildCsr } from '../../src/crypto/x509/csr.js';
import { buildPushCertificateRequest } from '../../src/protocol/push-certificate-request.js';
import { ecIdentity, type Identity, identityOf } from '../crypto/identities.js';
import { nextKeys } from '../helpers/prepared-keys.js';
import { makeVendor, type Vendor } from '../pki/push-certificates/push-portal.js';

let vendor: Vendor;
let csrDer: Buffer;

beforeAll(async () => {
  vendor = await makeVendor();
  const keys = await nextKeys();
  csrDer = buildCsr({ subject: [{ type: 'CN', value: 'push' }], ...keys });
});

function build(signer: Identity, chain = vendor.chain) {
  return buildPushCertificateRequest({ csrDer, vendor: { ...signer, chain } });
}

describe('a request for a push certificate', () => {
  it('is refused with a key that is not RSA', async () => {
    const signer = await ecIdentity('P-256');
    expect(() => build(signer)).toThrow('Apple accepts signatures of RSA keys only');
  });

  it('is one line of base64 that holds an XML property list of three texts', () => {
    const text = build(vendor.leaf).toString('latin1');
    expect(text).toMatch(/^[A-Za-z0-9+/]+={0,2}$/);
    const xml = Buffer.from(text, 'base64').toString('utf8');
    expect(xml).toMatch(/^<\?xml version="1.0" encoding="UTF-8"\?>\n<!DOCTYPE plist /);
    const found = plist.parse(xml) as Record<string, string>;
    const keys = ['PushCertCertificateChain', 'PushCertRequestCSR', 'PushCertSignature'];
    expect(new Set(Object.keys(found))).toEqual(new Set(keys));
    expect(found.PushCertRequestCSR).toBe(csrDer.toString('base64'));
  });

  it('has the certificates as PEM with lines of 64 characters, the root last', () => {
    const xml = Buffer.from(build(vendor.leaf).toString('latin1'), 'base64').toString('utf8');
    const { PushCertCertificateChain: pem = '' } = plist.parse(xml) as Record<string, string>;
    const certificates = parseCertificates(Buffer.from(pem));
    const expected = [vendor.leaf.certificate, ...vendor.chain];
    expect(certificates.map(({ der }) => der)).toEqual(expected.map(({ der }) => der));
    const bodies = pem.split('\n').filter((line) => line !== '' && !line.startsWith('-----'));
    const lengths = new Set(bodies.map((line) => line.length));
    expect(Math.max(...lengths)).toBe(64);
  });

  it('is the same each time, and another for another key', async () => {
    expect(build(vendor.leaf)).toEqual(build(vendor.leaf));
    const other = identityOf(await nextKeys());
    expect(build(other)).not.toEqual(build(vendor.leaf));
  });
});
