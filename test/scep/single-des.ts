import { constants, createCipheriv, publicEncrypt, randomBytes } from 'node:crypto';
import {
  derContext,
  derInteger,
  derNull,
  derOctetString,
  derOid,
  derPrimitiveContext,
  derSequence,
  derSet,
} from '../../src/crypto/asn1/der.js';
import { Oid } from '../../src/crypto/asn1/oids.js';
import { issuerAndSerial } from '../../src/crypto/cms/build-signed-data.js';
import type { ParsedCertificate } from '../../src/crypto/x509/certificate.js';

/** An envelope as old SCEP clients make it, which the product itself never writes. */
export function sealWithSingleDes(content: Buffer, recipient: ParsedCertificate): Buffer {
  const [key, iv] = [randomBytes(8), randomBytes(8)];
  const cipher = createCipheriv('des-ede3-cbc', Buffer.concat([key, key, key]), iv);
  const publicKey = { key: recipient.publicKey, padding: constants.RSA_PKCS1_PADDING };
  const recipientInfo = derSequence(
    derInteger(0),
    issuerAndSerial(recipient),
    derSequence(derOid(Oid.rsaEncryption), derNull()),
    derOctetString(publicEncrypt(publicKey, key)),
  );
  const encrypted = derSequence(
    derOid(Oid.data),
    derSequence(derOid(Oid.desCbc), derOctetString(iv)),
    derPrimitiveContext(0, Buffer.concat([cipher.update(content), cipher.final()])),
  );
  const enveloped = derSequence(derInteger(0), derSet(recipientInfo), encrypted);
  return derSequence(derOid(Oid.envelopedData), derContext(0, enveloped));
}
