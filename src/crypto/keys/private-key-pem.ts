import type { KeyObject } from 'node:crypto';
import { AppError } from '../../errors.js';
import { readDer } from '../asn1/der.js';
import { decodePemBlock } from '../asn1/pem.js';
import { decryptPrivateKeyInfo, Secret, WrongPassword } from '../pkcs12/password-encryption.js';
import { importPrivateKey } from './keys.js';

const block =
  /-----BEGIN ((?:[A-Z0-9]+ ){0,3}PRIVATE KEY)-----(?:(?!-----)[\s\S])*-----END \1-----/g;

/** The PEM blocks of private keys in a text, unchanged. */
export function privateKeyBlocks(text: string): string[] {
  return [...text.matchAll(block)].map(([found]) => found);
}

/**
 * The one private key in a PEM text: PKCS #8, PKCS #1 or SEC 1, encrypted or not.
 * @throws WrongPassword; AppError `invalid_certificate`
 */
export async function readPrivateKeyPem(text: string, password?: string): Promise<KeyObject> {
  const [pem, ...others] = privateKeyBlocks(text);
  if (pem === undefined) throw invalidKey('there is no private key in PEM');
  if (others.length > 0) throw invalidKey('there is more than one private key');
  if (!pem.includes('ENCRYPTED')) return importPrivateKey(Buffer.from(pem));
  if (password === undefined)
    throw invalidKey('the private key is encrypted; its password is missing');
  if (pem.includes('Proc-Type:')) return openTraditional(pem, password);
  const der = decodePemBlock(pem, 'ENCRYPTED PRIVATE KEY');
  return importPrivateKey(await decryptPrivateKeyInfo(readDer(der), new Secret(password)));
}

function invalidKey(message: string): AppError {
  return new AppError('invalid_certificate', 400, message);
}

/** RFC 1421 headers, as OpenSSL wrote them before PKCS #8; node:crypto knows their ciphers. */
function openTraditional(pem: string, password: string): KeyObject {
  try {
    return importPrivateKey(Buffer.from(pem), password);
  } catch (cause) {
    throw new WrongPassword(cause);
  }
}
