import { type KeyObject, randomBytes } from 'node:crypto';
import {
  exportPrivateKey,
  generateRsaKeyPair,
  importPrivateKey,
  type KeyPair,
  publicKeyFingerprint,
} from '../../crypto/keys/keys.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import {
  issueCertificate,
  type KeyUsage,
  type ParsedCertificate,
  parseCertificate,
} from '../../crypto/x509/certificate.js';
import {
  type AuthorityRow,
  type AuthorityUseRow,
  insertIssuingAuthority,
  listAuthorityUses,
  lockAuthority,
} from '../../db/pki/authority-repository.js';
import {
  insertPrivateKey,
  type Transaction,
  writeMasterKeyCheck,
} from '../../db/pki/certificate-repository.js';
import { certificateRecord } from '../certificates/certificate-record.js';
import { privateKeyIdentity, sealMasterKeyCheck } from '../master-key/master-key.js';

export const CA_KEY_BITS = 2048;
const CA_YEARS = 10;
const CA_KEY_USAGE: KeyUsage[] = ['digitalSignature', 'keyEncipherment', 'keyCertSign', 'cRLSign'];
/** Devices whose clock is a little slow accept the certificate all the same. */
export const CLOCK_TOLERANCE_MS = 10 * 60 * 1000;

/** A CA of ours as it is kept. */
export interface StoredAuthority {
  id: number;
  certificate: ParsedCertificate;
  privateKey: KeyObject;
  isRevoked: boolean;
}

export function yearsAfter(date: Date, years: number): Date {
  const later = new Date(date);
  later.setUTCFullYear(later.getUTCFullYear() + years);
  return later;
}

/** Self-signed, under a name of its own: the names of two CAs must never be the same. */
function issueCaCertificate({ publicKey, privateKey }: KeyPair, now: Date): ParsedCertificate {
  const suffix = randomBytes(4).toString('hex');
  const der = issueCertificate({
    subject: [{ type: 'CN', value: `Muster Device CA ${suffix}` }],
    publicKey,
    issuerKey: privateKey,
    notBefore: new Date(now.getTime() - CLOCK_TOLERANCE_MS),
    notAfter: yearsAfter(now, CA_YEARS),
    isCa: true,
    pathLength: 0,
    keyUsage: CA_KEY_USAGE,
  });
  return parseCertificate(der);
}

/** Makes and stores the CA of an RSA key; from now on it issues in place of the one that did. */
export async function storeNewAuthority(
  trx: Transaction,
  box: SecretBox,
  { keys, now }: { keys: KeyPair; now: Date },
): Promise<StoredAuthority> {
  const certificate = issueCaCertificate(keys, now);
  const fingerprint = publicKeyFingerprint(keys.privateKey).toString('hex');
  const keyId = await insertPrivateKey(trx, {
    name: certificate.commonName ?? null,
    key_type: 'RSA',
    key_size: keys.privateKey.asymmetricKeyDetails?.modulusLength ?? 0,
    fingerprint_sha256: fingerprint,
    sealed_pkcs8: box.seal(exportPrivateKey(keys.privateKey), privateKeyIdentity(fingerprint)),
  });
  const record = certificateRecord(certificate, 'mdm.cacert');
  const id = await insertIssuingAuthority(trx, { ...record, rsa_private_key_id: keyId });
  await writeMasterKeyCheck(trx, sealMasterKeyCheck(box));
  return { id, certificate, privateKey: keys.privateKey, isRevoked: false };
}

/** Undefined where the key is not here. */
export function openAuthority(row: AuthorityRow, box: SecretBox): StoredAuthority | undefined {
  const { id, der, key_fingerprint, sealed_pkcs8, revoked_at } = row;
  if (key_fingerprint === null || sealed_pkcs8 === null) return undefined;
  const privateKey = importPrivateKey(box.open(sealed_pkcs8, privateKeyIdentity(key_fingerprint)));
  return { id, certificate: parseCertificate(der), privateKey, isRevoked: revoked_at !== null };
}

export const CA_KEY_SIZES = [2048, 3072, 4096] as const;
export type CaKeySize = (typeof CA_KEY_SIZES)[number];

/** The key of a CA to be, made before the transaction: a long one takes seconds. */
export function makeAuthorityKeys(bits: CaKeySize = CA_KEY_BITS): Promise<KeyPair> {
  return generateRsaKeyPair(bits);
}

export type AuthorityKeys = KeyPair;

export interface Rotation {
  made: StoredAuthority;
  /** The one that issued until now, with what depends on it; undefined where there was none. */
  former: AuthorityUseRow | undefined;
}

/**
 * A new CA of ours issues from the commit on. The former one stays trusted for the identities that
 * it issued, and answers what is still sent to it. Rotations at once come one after the other.
 */
export async function rotateAuthority(
  trx: Transaction,
  box: SecretBox,
  { keys, now = new Date() }: { keys: KeyPair; now?: Date },
): Promise<Rotation> {
  await lockAuthority(trx);
  const uses = await listAuthorityUses(trx);
  const former = uses.find(({ issues_identities: issues }) => issues);
  return { made: await storeNewAuthority(trx, box, { keys, now }), former };
}

/** The same with the secrets at hand. */
export class AuthorityRotations {
  constructor(private readonly box: SecretBox) {}

  rotate(trx: Transaction, keys: KeyPair): Promise<Rotation> {
    return rotateAuthority(trx, this.box, { keys });
  }
}
