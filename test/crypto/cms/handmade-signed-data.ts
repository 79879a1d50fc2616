import { hash } from 'node:crypto';
import {
  derContext,
  derElement,
  derInteger,
  derOctetString,
  derOid,
  derSequence,
  derSet,
  Tag,
} from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { verifySignedData } from '../../../src/crypto/cms/cms-signed-data.js';
import {
  createSignature,
  digestAlgorithm,
  signatureAlgorithm,
} from '../../../src/crypto/keys/algorithms.js';
import { codeOf, type Identity } from '../identities.js';

export const content = Buffer.from('<plist><dict/></plist>');
export const refusals = ['invalid_asn1', 'invalid_certificate', 'invalid_signature'];

export function verifyCode(der: Buffer, over?: Buffer): string | undefined {
  return codeOf(() => verifySignedData({ der, content: over }));
}

export function attribute(oid: string, ...values: Buffer[]): Buffer {
  return derSequence(derOid(oid), derSet(...values));
}

export function digestOf(bytes: Buffer): Buffer {
  return derOctetString(hash('sha256', bytes, 'buffer'));
}

/** The two attributes that every signature with attributes must have. */
export function rightAttributes(): [Buffer, Buffer] {
  return [
    attribute(Oid.contentType, derOid(Oid.data)),
    attribute(Oid.messageDigest, digestOf(content)),
  ];
}

interface Handmade {
  attributes?: Buffer[];
  contentType?: string;
  digest?: Buffer;
  algorithm?: Buffer;
  signers?: number;
}

/** A message by an EC signer whose parts can each be wrong, with a right signature. */
export function handmade(
  signer: Identity,
  { attributes, contentType = Oid.data, signers = 1, ...parts }: Handmade = {},
): Buffer {
  const signed = attributes === undefined ? content : derElement(Tag.set, ...attributes);
  const { certificate, privateKey } = signer;
  const info = derSequence(
    derInteger(1),
    derSequence(certificate.issuerRaw, derElement(Tag.integer, certificate.serial)),
    parts.digest ?? digestAlgorithm('sha256'),
    ...(attributes === undefined ? [] : [derContext(0, ...attributes)]),
    parts.algorithm ?? signatureAlgorithm(privateKey, 'sha256'),
    derOctetString(createSignature(privateKey, 'sha256', signed)),
  );
  const signedData = derSequence(
    derInteger(1),
    derSet(digestAlgorithm('sha256')),
    derSequence(derOid(contentType), derContext(0, derOctetString(content))),
    derContext(0, certificate.der),
    derSet(...Array<Buffer>(signers).fill(info)),
  );
  return derSequence(derOid(Oid.signedData), derContext(0, signedData));
}
