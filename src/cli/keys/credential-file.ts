import type { KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { readBer, smallInteger, Tag } from '../../crypto/asn1/der.js';
import { encodePem, isPem } from '../../crypto/asn1/pem.js';
import {
  exportPrivateKey,
  importPrivateKey,
  publicKeyFingerprint,
} from '../../crypto/keys/keys.js';
import { privateKeyBlocks, readPrivateKeyPem } from '../../crypto/keys/private-key-pem.js';
import { WrongPassword } from '../../crypto/pkcs12/password-encryption.js';
import { openPkcs12, type Pkcs12Content } from '../../crypto/pkcs12/pkcs12.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import { AppError } from '../../errors.js';
import { readCertificateText } from '../../pki/certificates/certificate-text.js';
import type { PasswordPrompt } from '../password.js';

const MAX_BYTES = 1024 * 1024;

interface Contents {
  certificates: ParsedCertificate[];
  keys: KeyObject[];
}

/** As the API expects them. */
export interface CredentialPem {
  /** Absent when the files hold none. */
  pem_certificate?: string;
  pem_private_key?: string;
}

/** Reads certificates and their private key from PEM, DER, PKCS #7 or PKCS #12. AppError names the file. */
export async function readCredentialFiles(
  files: readonly string[],
  password: PasswordPrompt,
): Promise<CredentialPem> {
  const contents: Contents[] = [];
  for (const file of files) contents.push(await readContents(file, password));
  const certificates = contents.flatMap((content) => content.certificates);
  const keys = new Map(
    contents
      .flatMap((content) => content.keys)
      .map((key) => [publicKeyFingerprint(key).toString('hex'), key]),
  );
  const [key, ...others] = keys.values();
  if (others.length > 0) {
    throw new AppError('bad_request', 400, `${files.join(', ')}: more than one private key`);
  }
  const pem: CredentialPem = {};
  if (certificates.length > 0) {
    pem.pem_certificate = certificates.map(({ der }) => encodePem('CERTIFICATE', der)).join('');
  }
  if (key !== undefined) pem.pem_private_key = encodePem('PRIVATE KEY', exportPrivateKey(key));
  return pem;
}

async function readContents(file: string, password: PasswordPrompt): Promise<Contents> {
  const bytes = await readFile(file).catch((cause: Error) => {
    throw new AppError('bad_request', 400, `${file} cannot be read (${cause.message})`, { cause });
  });
  try {
    if (bytes.length > MAX_BYTES) throw new AppError('bad_request', 400, 'it is too large');
    if (isPem(bytes)) return await readPem(bytes.toString('latin1'), file, password);
    return await readDerFile(bytes, file, password);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError(error.code, error.status, `${file}: ${error.message}`, { cause: error });
  }
}

async function readPem(text: string, file: string, password: PasswordPrompt): Promise<Contents> {
  const blocks = privateKeyBlocks(text);
  const isEncrypted = blocks.some((block) => block.includes('ENCRYPTED'));
  const secret = isEncrypted ? await password.get(file) : undefined;
  const keys = blocks.length > 0 ? [await readPrivateKeyPem(text, secret)] : [];
  const rest = blocks.reduce((remaining, block) => remaining.replace(block, ''), text);
  const certificates = isPem(Buffer.from(rest)) ? readCertificateText(rest) : [];
  return { certificates, keys };
}

/** The version that PKCS #12 and PKCS #8 begin with; certificates and PKCS #7 do not. */
function leadingVersion(bytes: Buffer): number | undefined {
  try {
    const first = readBer(bytes).sequence().next();
    return first.tag === Tag.integer ? smallInteger(first) : undefined;
  } catch (cause) {
    const message = 'it is neither PEM, DER nor PKCS #12';
    throw new AppError('invalid_certificate', 400, message, { cause });
  }
}

async function readDerFile(
  bytes: Buffer,
  file: string,
  password: PasswordPrompt,
): Promise<Contents> {
  const version = leadingVersion(bytes);
  if (version === undefined) {
    return { certificates: readCertificateText(bytes.toString('base64')), keys: [] };
  }
  if (version < 3) return { certificates: [], keys: [importPrivateKey(bytes)] };
  const { certificates, privateKeys } = await openFile(bytes, file, password);
  return {
    certificates: certificates.map(parseCertificate),
    keys: privateKeys.map((key) => importPrivateKey(key)),
  };
}

/** Tries the empty password, which some files have, before it asks. */
async function openFile(
  bytes: Buffer,
  file: string,
  password: PasswordPrompt,
): Promise<Pkcs12Content> {
  if (password.isFromFile) return openPkcs12(bytes, await password.get(file));
  try {
    return await openPkcs12(bytes);
  } catch (error) {
    if (!(error instanceof WrongPassword)) throw error;
    return openPkcs12(bytes, await password.get(file));
  }
}
