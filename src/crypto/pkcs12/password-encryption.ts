import { createDecipheriv, pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import { AppError } from '../../errors.js';
import { type Asn1Cursor, type Asn1Element, readBer, smallInteger, Tag } from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import { type ContentCipher, contentCiphers } from '../cms/content-ciphers.js';
import type { DigestName } from '../keys/algorithms.js';
import { bmpPassword, derivePkcs12Key, KeyUse } from './pkcs12-kdf.js';

const derive = promisify(pbkdf2);

/** Twice what OWASP wants of PBKDF2 today, and some 500 times what OpenSSL does. */
const MAX_ITERATIONS = 1_000_000;
/**
 * For one file: its integrity check and two parts, each of which derives three times by PKCS #12.
 */
const MAX_WORK = 7 * MAX_ITERATIONS;

/** The password does not open it; nothing else is known to be wrong. */
export class WrongPassword extends AppError {
  constructor(cause?: unknown) {
    super('invalid_certificate', 400, 'the password is wrong, or the file is damaged', { cause });
  }
}

/** A password, and how many iterations may still be spent on it. */
export class Secret {
  /** As PKCS #12 derives keys from it. */
  bmp: Buffer;
  #work = 0;

  constructor(readonly password: string) {
    this.bmp = bmpPassword(password);
  }

  /** Returns the iterations. @param times how often the derivation runs them */
  spend(iterations: number, times = 1): number {
    if (iterations < 1 || iterations > MAX_ITERATIONS) {
      throw tooMuch(`the password takes ${iterations}`, MAX_ITERATIONS);
    }
    this.#work += iterations * times;
    if (this.#work > MAX_WORK) {
      throw tooMuch(`the passwords of all parts take ${this.#work} or more`, MAX_WORK);
    }
    return iterations;
  }
}

/** RFC 7914 7.1. */
const SCRYPT = '1.3.6.1.4.1.11591.4.11';

const digestByPrf = new Map<string, DigestName>([
  [Oid.hmacWithSha1, 'sha1'],
  [Oid.hmacWithSha256, 'sha256'],
  [Oid.hmacWithSha384, 'sha384'],
  [Oid.hmacWithSha512, 'sha512'],
]);

const cipherByOid = new Map<string, ContentCipher>(
  Object.values(contentCiphers).map((cipher) => [cipher.oid, cipher]),
);

type Open = (key: Buffer, iv: Buffer, ciphertext: Buffer) => Promise<Buffer | undefined>;

const openTripleDes: Open = async (key, iv, ciphertext) =>
  decipher('des-ede3-cbc', key, iv, ciphertext);

/** SHA-1 blocks for a key of 24 octets and an IV of 8. */
const SCHEME_BLOCKS = 3;

/** RFC 7292 appendix C. */
const pkcs12Schemes = new Map<string, { keyBytes: number; open: Open }>([
  [Oid.pbeWithSha1And3KeyTripleDes, { keyBytes: 24, open: openTripleDes }],
  [Oid.pbeWithSha1And128BitRc2, { keyBytes: 16, open: decryptRc2 }],
  [Oid.pbeWithSha1And40BitRc2, { keyBytes: 5, open: decryptRc2 }],
]);

interface Derivation {
  salt: Buffer;
  iterations: number;
  digest: DigestName;
}

/**
 * Opens the ASN.1 that a password encrypts: PBES2 with PBKDF2 and AES or 3DES (RFC 8018), or 3DES
 * and RC2 of PKCS #12 (RFC 7292 appendix C). `algorithm` is the AlgorithmIdentifier.
 * @throws WrongPassword; AppError `invalid_certificate` naming what is not supported
 */
export async function decryptWithPassword(
  algorithm: Asn1Element,
  ciphertext: Buffer,
  secret: Secret,
): Promise<Buffer> {
  const members = algorithm.sequence();
  const oid = members.oid();
  const scheme = pkcs12Schemes.get(oid);
  if (oid !== Oid.pbes2 && scheme === undefined) throw unsupported(`the encryption ${oid}`);
  const parameters = members.sequence();
  try {
    const opened =
      scheme === undefined
        ? await openPbes2(parameters, ciphertext, secret)
        : await openPkcs12Scheme(scheme, parameters, { ciphertext, secret });
    return requireAsn1(opened);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new WrongPassword(error);
  }
}

/** The PKCS #8 (DER) inside an EncryptedPrivateKeyInfo (RFC 5958 3). As decryptWithPassword. */
export async function decryptPrivateKeyInfo(info: Asn1Element, secret: Secret): Promise<Buffer> {
  const members = info.sequence();
  const algorithm = members.next(Tag.sequence);
  return decryptWithPassword(algorithm, members.octetString(), secret);
}

function tooMuch(found: string, limit: number): AppError {
  const message = `${found} iterations; 1 to ${limit} are accepted`;
  return new AppError('invalid_certificate', 400, message);
}

function unsupported(what: string): AppError {
  return new AppError('invalid_certificate', 400, `${what} is not supported`);
}

async function openPbes2(parameters: Asn1Cursor, ciphertext: Buffer, secret: Secret) {
  const { salt, iterations, digest } = readDerivation(parameters.sequence());
  const scheme = parameters.sequence();
  const oid = scheme.oid();
  const cipher = cipherByOid.get(oid);
  if (cipher === undefined) throw unsupported(`the cipher ${oid}`);
  const iv = scheme.octetString();
  const rounds = secret.spend(iterations);
  const key = await derive(secret.password, salt, rounds, cipher.keyBytes, digest);
  return decipher(cipher.name, key, iv, ciphertext);
}

function readDerivation(members: Asn1Cursor): Derivation {
  const oid = members.oid();
  if (oid === SCRYPT) throw unsupported('the key derivation scrypt');
  if (oid !== Oid.pbkdf2) throw unsupported(`the key derivation ${oid}`);
  const parameters = members.sequence();
  const salt = parameters.octetString();
  const iterations = smallInteger(parameters.next(Tag.integer));
  parameters.optional(Tag.integer);
  const prf = parameters.optional(Tag.sequence)?.children().oid() ?? Oid.hmacWithSha1;
  const digest = digestByPrf.get(prf);
  if (digest === undefined) throw unsupported(`the function ${prf}`);
  return { salt, iterations, digest };
}

function decipher(name: string, ...[key, iv, ciphertext]: Parameters<Open>): Buffer {
  const cipher = createDecipheriv(name, key, iv);
  return Buffer.concat([cipher.update(ciphertext), cipher.final()]);
}

async function openPkcs12Scheme(
  { keyBytes, open }: { keyBytes: number; open: Open },
  parameters: Asn1Cursor,
  { ciphertext, secret }: { ciphertext: Buffer; secret: Secret },
) {
  const salt = parameters.octetString();
  const iterations = secret.spend(smallInteger(parameters.next(Tag.integer)), SCHEME_BLOCKS);
  const common = {
    password: secret.bmp,
    salt,
    iterations,
    digest: 'sha1',
  } as const;
  const key = await derivePkcs12Key({ ...common, use: KeyUse.encryption, bytes: keyBytes });
  const iv = await derivePkcs12Key({ ...common, use: KeyUse.iv, bytes: 8 });
  return await open(key, iv, ciphertext);
}

/** One wrong key in 256 leaves padding that looks right, but nothing that can be read. */
function requireAsn1(opened: Buffer | undefined): Buffer {
  if (opened === undefined) throw new WrongPassword();
  try {
    readBer(opened);
    return opened;
  } catch (error) {
    throw new WrongPassword(error);
  }
}

/**
 * RC2 in CBC mode (RFC 2268): old PKCS #12 files encrypt their certificates with it, and OpenSSL 3
 * no longer has it. Undefined when the padding is wrong. Few files need node-forge, which takes long
 * to load.
 */
async function decryptRc2(key: Buffer, iv: Buffer, ciphertext: Buffer) {
  const { default: forge } = await import('node-forge');
  const cipher = forge.rc2.createDecryptionCipher(key.toString('latin1'), key.length * 8);
  cipher.start(iv.toString('latin1'));
  cipher.update(forge.util.createBuffer(ciphertext.toString('latin1')));
  return cipher.finish() ? Buffer.from(cipher.output.getBytes(), 'latin1') : undefined;
}
