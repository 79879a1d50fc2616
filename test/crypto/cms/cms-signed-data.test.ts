import { generateKeyPairSync } from 'node:crypto';
import { derNull, derOid, derPrintableString, derSequence } from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import {
  buildCertsOnly,
  buildSignedData,
  buildSignedDataLater,
  parseSignedData,
  signingTime,
  verifySignedData,
} from '../../../src/crypto/cms/cms-signed-data.js';
import { AppError } from '../../../src/errors.js';
import { ecIdentity, fixture, type Identity, rsaIdentity } from '../identities.js';
import { content, handmade, rightAttributes, verifyCode } from './handmade-signed-data.js';

describe('SignedData', () => {
  let rsa: Identity;
  let ec: Identity;

  beforeAll(async () => {
    rsa = await rsaIdentity();
    ec = await ecIdentity();
  });

  it.each(['sha1', 'sha256', 'sha384', 'sha512'] as const)(
    'signs and verifies with %s',
    (digest) => {
      for (const signer of [rsa, ec]) {
        for (const attributes of [true, false]) {
          for (const detached of [true, false]) {
            const der = buildSignedData({ content, signer, digest, attributes, detached });
            const verified = verifySignedData({ der, content });
            expect(verified.content).toEqual(content);
            expect(verified.signers.length).toBe(1);
            expect(verified.signers[0].digestAlgorithm).toBe(digest);
            expect(verified.signers[0].certificate.der).toEqual(signer.certificate.der);
            expect(verified.signers[0].signedAttributes === undefined).toBe(!attributes);
          }
        }
      }
    },
  );

  it('refuses a key that it can not sign with, also later', async () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const signer = { certificate: rsa.certificate, privateKey };
    expect(() => buildSignedData({ content, signer })).toThrow(AppError);
    await expect(buildSignedDataLater({ content, signer })).rejects.toThrow(AppError);
  });

  it('signs the same without holding up the event loop', async () => {
    const signingTime = new Date('2026-01-02T03:04:05Z');
    for (const attributes of [true, false]) {
      const options = { content, signer: rsa, attributes, signingTime };
      expect((await buildSignedDataLater(options)).equals(buildSignedData(options))).toBe(true);
    }
    const both = { content, signer: ec, cosigners: [rsa], signingTime };
    for (const options of [both, { ...both, scheme: 'pss' as const }]) {
      const der = await buildSignedDataLater(options);
      expect(verifySignedData({ der }).signers).toHaveLength(2);
    }
  });

  it('verifies empty content', () => {
    const der = buildSignedData({ content: Buffer.alloc(0), signer: ec });
    expect(verifySignedData({ der }).content.length).toBe(0);
  });

  it('finds the signer by key identifier among several certificates', () => {
    const der = buildSignedData({
      content,
      signer: rsa,
      byKeyId: true,
      certificates: [ec.certificate, rsa.certificate],
    });
    const verified = verifySignedData({ der });
    expect(verified.signers[0].certificate.subject).toBe('CN=Signer');
    expect(verified.certificates.map((one) => one.der)).toEqual([
      rsa.certificate.der,
      ec.certificate.der,
    ]);
  });

  it('accepts the bare kind of key as signature algorithm of an EC signer', () => {
    const algorithm = derSequence(derOid(Oid.ecPublicKey));
    expect(verifyCode(handmade(ec, { attributes: rightAttributes(), algorithm }))).toBeUndefined();
  });

  it('accepts a digest algorithm with NULL parameters', () => {
    const digest = derSequence(derOid(Oid.sha256), derNull());
    expect(verifyCode(handmade(ec, { attributes: rightAttributes(), digest }))).toBeUndefined();
  });

  it('carries extra attributes and the claimed signing time', () => {
    const when = new Date('2026-11-21T10:00:00Z');
    const transaction = { oid: Oid.scepTransactionId, values: [derPrintableString('42')] };
    const der = buildSignedData({
      content,
      signer: rsa,
      signingTime: when,
      extraAttributes: [transaction],
    });
    const [signer] = verifySignedData({ der }).signers;
    expect(signer.signedAttributes?.get(Oid.scepTransactionId)).toEqual(transaction.values);
    expect(signingTime(signer)).toEqual(when);
    expect(signingTime({ ...signer, signedAttributes: undefined })).toBeUndefined();
    const odd = new Map([[Oid.signingTime, [derNull()]]]);
    expect(signingTime({ ...signer, signedAttributes: odd })).toBeUndefined();
  });

  it('ignores an embedded certificate that cannot be read', () => {
    const der = handmade(ec, { attributes: rightAttributes() });
    const damaged = Buffer.from(der);
    const version = damaged.indexOf(Buffer.from('a003020102', 'hex'));
    damaged[version + 4] = 9;
    expect(verifyCode(damaged)).toBe('invalid_signature');
    const options = { der: damaged, certificates: [ec.certificate] };
    expect(verifySignedData(options).certificates).toEqual([]);
  });

  it('carries certificates alone, in order', () => {
    const bundle = parseSignedData(buildCertsOnly([rsa.certificate, ec.certificate]));
    expect(bundle.certificates).toEqual([rsa.certificate.der, ec.certificate.der]);
    expect(bundle.signers).toEqual([]);
    expect(bundle.content).toBeUndefined();
  });

  it('reads a captured signature in BER, with indefinite lengths', () => {
    const text = fixture('signature/mdm-signature.real-1.b64').toString('latin1');
    const message = parseSignedData(Buffer.from(text, 'base64'));
    expect(message.content).toBeUndefined();
    expect(message.certificates.length).toBe(1);
    expect(message.signers[0]).toMatchObject({
      digestAlgorithm: Oid.sha1,
      signatureAlgorithm: Oid.sha1WithRsa,
      signedAttributes: undefined,
    });
    expect(message.signers[0]?.signature.length).toBe(256);
  });
});
