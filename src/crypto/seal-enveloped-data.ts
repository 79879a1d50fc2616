import { constants, createCipheriv, publicEncrypt, randomBytes } from 'node:crypto';
import { AppError } from '../errors.js';
import { issuerAndSerial } from './build-signed-data.js';
import { type ContentAlgorithm, contentCiphers } from './content-ciphers.js';
import {
  derContext,
  derInteger,
  derNull,
  derOctetString,
  derOid,
  derPrimitiveContext,
  derSequence,
  derSet,
} from './der.js';
import { Oid } from './oids.js';
import type { ParsedCertificate } from './parse-certificate.js';

function recipientInfo(recipient: ParsedCertificate, key: Buffer): Buffer {
  const publicKey = { key: recipient.publicKey, padding: constants.RSA_PKCS1_PADDING };
  return derSequence(
    derInteger(0),
    issuerAndSerial(recipient),
    derSequence(derOid(Oid.rsaEncryption), derNull()),
    derOctetString(publicEncrypt(publicKey, key)),
  );
}

export interface SealEnvelopeOptions {
  /** AES-128-CBC when absent, which RFC 8894 makes mandatory. */
  algorithm?: ContentAlgorithm;
}

/**
 * Seals content for one RSA certificate. Returns the DER of a ContentInfo.
 * @throws AppError `invalid_certificate` when the recipient's key is not RSA
 */
export function sealEnvelopedData(
  content: Buffer,
  recipient: ParsedCertificate,
  { algorithm = 'aes-128-cbc' }: SealEnvelopeOptions = {},
): Buffer {
  if (recipient.publicKey.asymmetricKeyType !== 'rsa') {
    throw new AppError('invalid_certificate', 400, 'only RSA keys can receive an envelope');
  }
  const { oid, name, keyBytes, ivBytes } = contentCiphers[algorithm];
  const [key, iv] = [randomBytes(keyBytes), randomBytes(ivBytes)];
  const cipher = createCipheriv(name, key, iv);
  const ciphertext = Buffer.concat([cipher.update(content), cipher.final()]);
  const encryptedContent = derSequence(
    derOid(Oid.data),
    derSequence(derOid(oid), derOctetString(iv)),
    derPrimitiveContext(0, ciphertext),
  );
  const recipients = derSet(recipientInfo(recipient, key));
  const enveloped = derSequence(derInteger(0), recipients, encryptedContent);
  return derSequence(derOid(Oid.envelopedData), derContext(0, enveloped));
}
