import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../errors.js';
import {
  type Asn1Cursor,
  type Asn1Element,
  contextTag,
  invalidAsn1,
  primitiveContextTag,
  readBer,
  smallInteger,
  Tag,
} from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import { digestName } from '../keys/algorithms.js';
import {
  decryptPrivateKeyInfo,
  decryptWithPassword,
  Secret,
  WrongPassword,
} from './password-encryption.js';
import { derivePkcs12Key, KeyUse } from './pkcs12-kdf.js';

const MAX_BYTES = 512 * 1024;
const MAX_BAGS = 64;

export interface Pkcs12Content {
  /** DER, in the file's order. */
  certificates: Buffer[];
  /** PKCS #8 (DER), not encrypted. */
  privateKeys: Buffer[];
}

interface Reading extends Pkcs12Content {
  secret: Secret;
  bagsLeft: number;
}

/**
 * Opens a PKCS #12 file (RFC 7292): integrity by password with SHA-1 or SHA-2, content under PBES2
 * (AES, 3DES), or the older 3DES and RC2. Work and size are bounded, the event loop stays free.
 * @throws WrongPassword; AppError `invalid_pkcs12` naming what is wrong or not supported
 */
export async function openPkcs12(bytes: Buffer, password = ''): Promise<Pkcs12Content> {
  try {
    return await readFile(bytes, password);
  } catch (error) {
    if (error instanceof WrongPassword) throw error;
    if (!(error instanceof AppError)) throw invalidPkcs12('unreadable PKCS #12', error);
    const { code, message } = error;
    throw invalidPkcs12(code === 'invalid_asn1' ? 'unreadable PKCS #12' : message, error);
  }
}

async function readFile(bytes: Buffer, password: string): Promise<Pkcs12Content> {
  if (bytes.length > MAX_BYTES) throw invalidPkcs12('it is too large');
  const pfx = readBer(bytes).sequence();
  if (smallInteger(pfx.next(Tag.integer)) !== 3) throw invalidPkcs12('unknown version');
  const { type, content } = contentOf(pfx.sequence());
  if (type !== Oid.data) throw invalidPkcs12('a signature in place of a password is not supported');
  const authenticated = content.octetString();
  const secret = new Secret(password);
  if (!pfx.done) await checkMac(pfx.sequence(), { content: authenticated, secret });
  const reading: Reading = { secret, bagsLeft: MAX_BAGS, certificates: [], privateKeys: [] };
  const safes = readBer(authenticated).sequence();
  while (!safes.done) await readSafe(safes.sequence(), reading);
  const { certificates, privateKeys } = reading;
  return { certificates, privateKeys };
}

function invalidPkcs12(message: string, cause?: unknown): AppError {
  return new AppError('invalid_pkcs12', 400, message, { cause });
}

function contentOf(info: Asn1Cursor): { type: string; content: Asn1Cursor } {
  const type = info.oid();
  return { type, content: info.next(contextTag(0)).children() };
}

async function checkMac(
  macData: Asn1Cursor,
  { content, secret }: { content: Buffer; secret: Secret },
) {
  const digestInfo = macData.sequence();
  const oid = digestInfo.sequence().oid();
  const digest = digestName(oid);
  if (digest === undefined) throw invalidPkcs12(`the integrity check ${oid} is not supported`);
  const expected = digestInfo.octetString();
  const salt = macData.octetString();
  const iterations = macData.done ? 1 : smallInteger(macData.next(Tag.integer));
  // A file without a password has either an empty one or none, which derive different keys
  // (RFC 7292 B.1).
  const forms = secret.password === '' ? [secret.bmp, Buffer.alloc(0)] : [secret.bmp];
  for (const password of forms) {
    secret.bmp = password;
    const key = await derivePkcs12Key({
      password,
      salt,
      digest,
      iterations: secret.spend(iterations),
      use: KeyUse.mac,
      bytes: createHmac(digest, '').digest().length,
    });
    const mac = createHmac(digest, key).update(content).digest();
    if (mac.length === expected.length && timingSafeEqual(mac, expected)) return;
  }
  throw new WrongPassword();
}

async function readSafe(info: Asn1Cursor, reading: Reading): Promise<void> {
  const { type, content } = contentOf(info);
  if (type === Oid.data) await readBags(readBer(content.octetString()), reading);
  else if (type === Oid.encryptedData) {
    await readBags(readBer(await openEncryptedData(content, reading.secret)), reading);
  } else throw invalidPkcs12('parts encrypted for a certificate are not supported');
}

async function readBags(contents: Asn1Element, reading: Reading): Promise<void> {
  const bags = contents.sequence();
  while (!bags.done) {
    reading.bagsLeft -= 1;
    if (reading.bagsLeft < 0) throw invalidPkcs12('it holds too many parts');
    const bag = bags.sequence();
    await readBag(bag.oid(), bag.next(contextTag(0)).children().next(), reading);
  }
}

async function readBag(type: string, value: Asn1Element, reading: Reading): Promise<void> {
  if (type === Oid.safeContentsBag) await readBags(value, reading);
  if (type === Oid.keyBag) reading.privateKeys.push(value.raw);
  if (type === Oid.shroudedKeyBag) {
    reading.privateKeys.push(await decryptPrivateKeyInfo(value, reading.secret));
  }
  if (type === Oid.certificateBag) {
    const members = value.sequence();
    if (members.oid() !== Oid.x509Certificate) return;
    reading.certificates.push(members.next(contextTag(0)).children().octetString());
  }
}

async function openEncryptedData(content: Asn1Cursor, secret: Secret): Promise<Buffer> {
  const encryptedData = content.sequence();
  encryptedData.next(Tag.integer);
  const info = encryptedData.sequence();
  if (info.oid() !== Oid.data) throw invalidAsn1('encrypted content is not data');
  const algorithm = info.next(Tag.sequence);
  const isSegmented = info.tag === contextTag(0);
  const octets = info.next(isSegmented ? contextTag(0) : primitiveContextTag(0)).octets();
  return decryptWithPassword(algorithm, octets, secret);
}
