import { constants, createCipheriv, type KeyObject, publicEncrypt, randomBytes } from 'node:crypto';
import { AppError } from '../../errors.js';
import {
  derContext,
  derInteger,
  derNull,
  derOctetString,
  derOid,
  derPrimitiveContext,
  derSequence,
  derSet,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import type { DigestName } from '../keys/digests.js';
import { oaepAlgorithm } from '../keys/rsa-parameters.js';
import type { ParsedCertificate } from '../x509/parse-certificate.js';
import { certificateReference } from './build-signed-data.js';
import {
  type ContentAlgorithm,
  contentCiphers,
  type GcmAlgorithm,
  gcmCiphers,
  isGcm,
} from './content-ciphers.js';

const TAG_BYTES = 16;

export interface SealEnvelopeOptions {
  /** AES-128-CBC when absent, which RFC 8894 makes mandatory. AES-GCM makes AuthEnvelopedData. */
  algorithm?: ContentAlgorithm | GcmAlgorithm;
  /** Moves the key by RSAES-OAEP with this digest; by RSAES-PKCS1-v1_5 when absent. */
  oaep?: DigestName;
  /** Names the recipients by subject key identifier instead of issuer and serial number. */
  byKeyId?: boolean;
}

interface Sealed {
  key: Buffer;
  encryptedContent: Buffer;
  /** With AES-GCM only. */
  tag?: Buffer;
}

/**
 * Seals content for RSA certificates, all with the same content key. Returns the DER of a
 * ContentInfo: EnvelopedData (RFC 5652), or AuthEnvelopedData (RFC 5083) for AES-GCM.
 * @throws AppError `invalid_certificate` when a recipient's key is not RSA
 */
export function sealEnvelopedData(
  content: Buffer,
  recipients: ParsedCertificate | readonly ParsedCertificate[],
  options: SealEnvelopeOptions = {},
): Buffer {
  const { algorithm = 'aes-128-cbc', byKeyId = false } = options;
  const sealed = isGcm(algorithm) ? sealGcm(content, algorithm) : sealCbc(content, algorithm);
  const { key, encryptedContent, tag } = sealed;
  const infos = [recipients].flat().map((one) => recipientInfo(one, key, options));
  // RFC 5652 6.1: version 2 when a recipient is named by key identifier; RFC 5083 2.1: always 0.
  const version = derInteger(byKeyId && tag === undefined ? 2 : 0);
  const mac = tag === undefined ? [] : [derOctetString(tag)];
  const enveloped = derSequence(version, derSet(...infos), encryptedContent, ...mac);
  const type = tag === undefined ? Oid.envelopedData : Oid.authEnvelopedData;
  return derSequence(derOid(type), derContext(0, enveloped));
}

function sealGcm(content: Buffer, algorithm: GcmAlgorithm): Sealed {
  const { oid, name, keyBytes, ivBytes } = gcmCiphers[algorithm];
  const [key, iv] = [randomBytes(keyBytes), randomBytes(ivBytes)];
  const cipher = createCipheriv(name, key, iv, { authTagLength: TAG_BYTES });
  const ciphertext = Buffer.concat([cipher.update(content), cipher.final()]);
  const parameters = derSequence(derOctetString(iv), derInteger(TAG_BYTES));
  const identifier = derSequence(derOid(oid), parameters);
  const encryptedContent = encryptedContentInfo(identifier, ciphertext);
  return { key, encryptedContent, tag: cipher.getAuthTag() };
}

function encryptedContentInfo(algorithm: Buffer, ciphertext: Buffer): Buffer {
  return derSequence(derOid(Oid.data), algorithm, derPrimitiveContext(0, ciphertext));
}

function sealCbc(content: Buffer, algorithm: ContentAlgorithm): Sealed {
  const { oid, name, keyBytes, ivBytes } = contentCiphers[algorithm];
  const [key, iv] = [randomBytes(keyBytes), randomBytes(ivBytes)];
  const cipher = createCipheriv(name, key, iv);
  const ciphertext = Buffer.concat([cipher.update(content), cipher.final()]);
  const identifier = derSequence(derOid(oid), derOctetString(iv));
  return { key, encryptedContent: encryptedContentInfo(identifier, ciphertext) };
}

function recipientInfo(
  recipient: ParsedCertificate,
  key: Buffer,
  { oaep, byKeyId = false }: SealEnvelopeOptions,
): Buffer {
  if (recipient.publicKey.asymmetricKeyType !== 'rsa') {
    throw new AppError('invalid_certificate', 400, 'only RSA keys can receive an envelope');
  }
  return derSequence(
    derInteger(byKeyId ? 2 : 0),
    certificateReference(recipient, byKeyId),
    keyTransport(oaep),
    derOctetString(encryptKey(recipient.publicKey, key, oaep)),
  );
}

function keyTransport(oaep: DigestName | undefined): Buffer {
  if (oaep === undefined) return derSequence(derOid(Oid.rsaEncryption), derNull());
  return oaepAlgorithm({ digest: oaep, mgf1Digest: oaep });
}

function encryptKey(publicKey: KeyObject, key: Buffer, oaep: DigestName | undefined): Buffer {
  if (oaep === undefined) {
    return publicEncrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, key);
  }
  const padding = constants.RSA_PKCS1_OAEP_PADDING;
  return publicEncrypt({ key: publicKey, padding, oaepHash: oaep }, key);
}
