import { decodePemBlock } from '../../../src/crypto/asn1/pem.js';
import { generateEcKeyPair, type generateRsaKeyPair } from '../../../src/crypto/keys/keys.js';
import {
  formatAlternativeName,
  parseAlternativeName,
} from '../../../src/pki/certificates/alternative-names.js';
import { certificateView, chainView } from '../../../src/pki/certificates/certificate-view.js';
import { fixture, identityOf, mutations } from '../../crypto/identities.js';
import { nextKeys } from '../../helpers/prepared-keys.js';

const text = (path: string) => fixture(path).toString();

describe('alternative names', () => {
  it('are written as they are read', () => {
    for (const name of [
      'DNS:mdm.example.com',
      'DNS:*.example.com',
      'IP:192.0.2.1',
      'IP:2001:db8::1',
      'IP:::',
      'email:me@example.com',
      'URI:https://example.com/x',
    ]) {
      const parsed = parseAlternativeName(name);
      expect(parsed && formatAlternativeName(parsed)).toBe(name);
    }
  });

  it('have IPv6 addresses shortened by RFC 5952', () => {
    const value = '2001:0db8:0000:0000:0000:0000:0000:0001';
    expect(formatAlternativeName({ type: 'ip', value })).toBe('IP:2001:db8::1');
  });
});

describe('the view of a certificate', () => {
  let keys: Record<'rsa' | 'ec', Awaited<ReturnType<typeof generateRsaKeyPair>>>;
  beforeAll(async () => {
    keys = { rsa: await nextKeys(), ec: await generateEcKeyPair() };
  });

  it('shows a published push certificate', () => {
    const der = decodePemBlock(text('cert/push.mock.pem'), 'CERTIFICATE');
    expect(certificateView(der)).toEqual({
      subject_alt_names: [],
      key_usage: null,
      extended_key_usage: null,
      key_type: 'RSA',
      key_size: 2048,
      signature_algorithm: 'sha256WithRSAEncryption',
    });
  });

  it('is undefined for unreadable bytes', () => {
    const { certificate } = identityOf(keys.ec);
    expect(certificateView(Buffer.alloc(1))).toBeUndefined();
    expect(certificateView(certificate.der.subarray(1))).toBeUndefined();
    expect(chainView(certificate.der.subarray(1))).toEqual([]);
    expect(chainView(null)).toEqual([]);
    for (const altered of mutations(certificate.der, 200)) {
      expect(['object', 'undefined']).toContain(typeof certificateView(altered));
    }
  });

  it('is parsed once for a row, for all attributes', () => {
    const { der } = identityOf(keys.ec).certificate;
    const view = certificateView(der);
    expect(view).toMatchObject({ key_type: 'EC', key_size: 256 });
    expect(certificateView(der)).toBe(view);
  });
});
