import { derOid, derSequence } from '../../src/crypto/asn1/der.js';
import { sealEnvelopedData } from '../../src/crypto/cms/cms-enveloped-data.js';
import { buildCertsOnly, buildSignedData } from '../../src/crypto/cms/cms-signed-data.js';
import { AppError } from '../../src/errors.js';
import { openProfileFile } from '../../src/profiles/profile-file.js';
import { buildPlist, buildPlistNodes } from '../../src/protocol/plist/plist.js';
import { handmade } from '../crypto/cms/handmade-signed-data.js';
import { asAuthority, ecIdentity, type Identity, rsaIdentity } from '../crypto/identities.js';
import { binaryPlist } from '../protocol/plist/binary-plist.js';
import { dict, profile } from './sample-profiles.js';

const ED25519 = '1.3.101.112';
const CONTENT = buildPlistNodes(profile([]));

let authority: Identity;
let signer: Identity;
beforeAll(async () => {
  authority = await ecIdentity('P-256', asAuthority);
  signer = await rsaIdentity({ issuedBy: authority });
});

function sign(content = CONTENT, by = signer): Buffer {
  return buildSignedData({ content, signer: by });
}

function refusal(bytes: Buffer): [string, number] | undefined {
  try {
    openProfileFile(bytes);
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [error.code, error.status];
  }
}

/** The same bytes with one of them changed, found from the end. */
function altered(bytes: Buffer, from: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  const at = copy.indexOf(from);
  copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
  return copy;
}

describe('opening the file of a profile', () => {
  it('refuses an invalid signature, whatever was altered', () => {
    const signed = sign();
    const changedContent = altered(signed, Buffer.from('Configuration'));
    expect(refusal(changedContent)).toEqual(['invalid_signature', 422]);
    const changedSignature = Buffer.from(signed);
    changedSignature.writeUInt8(signed.readUInt8(signed.length - 1) ^ 1, signed.length - 1);
    expect(refusal(changedSignature)).toEqual(['invalid_signature', 422]);
  });

  it('does not trust a certificate whose name was altered', () => {
    const file = openProfileFile(altered(sign(), Buffer.from('Signer')), [authority.certificate]);
    expect(file.signature).toMatchObject({ signer: 'CN=Rigner', isTrusted: false });
  });

  it('refuses signed data without a signer or without its content', () => {
    expect(refusal(buildCertsOnly([signer.certificate]))).toEqual(['invalid_signature', 422]);
    const detached = buildSignedData({ content: CONTENT, signer, detached: true });
    expect(refusal(detached)).toEqual(['invalid_signature', 422]);
  });

  it('the error says why a signature cannot be checked', async () => {
    const anonymous = { algorithm: derSequence(derOid(ED25519)) };
    const md5 = { digest: derSequence(derOid('1.2.840.113549.2.5')) };
    const unsupported = 'it is signed by an algorithm that is not supported';
    const ec = await ecIdentity('P-256');
    const cases: [Buffer, string][] = [
      [handmade(ec, anonymous), unsupported],
      [handmade(ec, md5), unsupported],
      [handmade(ec, { signers: 0 }), 'nobody signed it'],
      [
        buildSignedData({ content: CONTENT, signer, detached: true }),
        'it is a detached signature: upload the signed file whole',
      ],
      [
        handmade({ ...ec, certificate: { ...ec.certificate, der: signer.certificate.der } }),
        "its signer's certificate is not in the file, or can not be read",
      ],
    ];
    for (const [bytes, why] of cases) {
      expect(refusal(bytes)).toEqual(['invalid_signature', 422]);
      const message = `the signature of the profile can not be checked; ${why}`;
      expect(() => openProfileFile(bytes)).toThrow(message);
    }
  });

  it('finds the dates that lose a fraction of a second', () => {
    const whole = new Date('2026-03-26T23:42:09Z');
    const cut = new Date('2026-03-26T23:42:09.250Z');
    const nodes = dict({ whole, list: [whole, cut], 'a/b': cut, text: '09.250Z' });
    const expected = ['/list/1', '/a~1b'];
    expect(openProfileFile(binaryPlist({ whole, list: [whole, cut], 'a/b': cut }))).toMatchObject({
      profile: new Map<string, unknown>([
        ['whole', whole],
        ['list', [whole, whole]],
        ['a/b', whole],
      ]),
      cutDates: expected,
    });
    const xml = buildPlistNodes(nodes).toString();
    expect(openProfileFile(Buffer.from(xml)).cutDates).toEqual([]);
    const time = /(<date>[^<]*)Z<\/date>(?=\s*<\/array>|\s*<key>text)/g;
    const withFraction = Buffer.from(xml.replace(time, '$1.250Z</date>'));
    expect(openProfileFile(withFraction).cutDates).toEqual(expected);
    expect(openProfileFile(sign(withFraction)).cutDates).toEqual(expected);
  });

  it('reports that encrypted profiles are not supported', async () => {
    const enveloped = sealEnvelopedData(CONTENT, signer.certificate);
    expect(refusal(enveloped)).toEqual(['encrypted_profile', 422]);
    expect(refusal(sign(enveloped))).toEqual(['encrypted_profile', 422]);
    expect(() => openProfileFile(enveloped)).toThrow('encrypted for one device');
  });

  it.each<[string, () => Buffer, string]>([
    ['nothing', () => Buffer.alloc(0), 'invalid_plist'],
    ['JSON', () => Buffer.from('{"PayloadType":"Configuration"}'), 'invalid_plist'],
    ['cut-off XML', () => CONTENT.subarray(0, 200), 'invalid_plist'],
    ['an archive', () => Buffer.from('PK\x03\x04'), 'invalid_plist'],
    ['PEM', () => Buffer.from('-----BEGIN PKCS7-----'), 'invalid_plist'],
    ['an array', () => buildPlist([]), 'invalid_profile'],
    ['cut-off CMS', () => sign().subarray(0, 300), 'invalid_profile'],
    ['a certificate', () => signer.certificate.der, 'invalid_profile'],
    ['zeros in a sequence', () => Buffer.from('3003000000', 'hex'), 'invalid_profile'],
    ['a profile signed twice', () => sign(sign()), 'invalid_profile'],
    ['signed nonsense', () => sign(Buffer.from('nonsense')), 'invalid_plist'],
  ])('refuses %s', (_what, bytes, code) => {
    expect(refusal(bytes())).toEqual([code, 422]);
  });

  it('reads XML and binary', () => {
    expect(openProfileFile(CONTENT)).toMatchObject({ format: 'xml', signature: undefined });
    expect(openProfileFile(binaryPlist({ PayloadVersion: 1 }))).toEqual({
      format: 'binary',
      profile: new Map([['PayloadVersion', 1n]]),
      cutDates: [],
      signature: undefined,
    });
  });

  it('a signed file names its signer, and whether the certificate leads to a trusted CA', async () => {
    const outsider = await ecIdentity('P-256', { subject: [{ type: 'CN', value: 'Outsider' }] });
    const anchors = [authority.certificate];
    expect(openProfileFile(sign(), anchors).signature).toEqual({
      signer: 'CN=Signer',
      fingerprint_sha256: signer.certificate.fingerprint.toString('hex'),
      isTrusted: true,
    });
    expect(openProfileFile(sign(CONTENT, outsider), anchors).signature).toMatchObject({
      signer: 'CN=Outsider',
      isTrusted: false,
    });
    const expired = await rsaIdentity({
      issuedBy: authority,
      notBefore: new Date('2020-01-01T00:00:00Z'),
      notAfter: new Date('2021-01-01T00:00:00Z'),
    });
    expect(openProfileFile(sign(CONTENT, expired), anchors).signature?.isTrusted).toBe(false);
    expect(openProfileFile(sign()).signature?.isTrusted).toBe(false);
  });

  it('reads a signed binary one', () => {
    const file = openProfileFile(sign(binaryPlist({ a: 1 })));
    expect([file.format, file.signature?.signer]).toEqual(['binary', 'CN=Signer']);
  });
});
