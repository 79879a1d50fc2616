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
import type { Transaction } from '../../db/connection/unit-of-work.js';
import {
  type AuthorityRow,
  type AuthorityUseRow,
  insertIssuingAuthority,
  listAuthorityUses,
  lockAuthority,
} from '../../db/pki/authority-repository.js';
import { insertPrivateKey, writeMasterKeyCheck } from '../../db/pki/certificate-repository.js';
import { certificateRecord } from '../certificates/certificate-record.js';
import { privateKeyLabel, sealMasterKeyCheck } from '../master-key/master-key.js';

export const CA_KEY_BITS = 2048;
const CA_YEARS = 10;
const CA_KEY_USAGE: KeyUsage[] = ['digitalSignature', 'keyEncipherment', 'keyCertSign', 'cRLSign'];
/** Devices whose clock is a little slow accept the certificate all the same. */
export const CLOCK_TOLERANCE_MS = 10 * 60 * 1000;

/** A stored CA with its key. */
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

/** Makes and stores a CA for an RSA key; it replaces the issuing one. */
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
    sealed_pkcs8: box.seal(exportPrivateKey(keys.privateKey), privateKeyLabel(fingerprint)),
  });
  const record = certificateRecord(certificate, 'mdm.cacert');
  const id = await insertIssuingAuthority(trx, { ...record, rsa_private_key_id: keyId });
  await writeMasterKeyCheck(trx, sealMasterKeyCheck(box));
  return { id, certificate, privateKey: keys.privateKey, isRevoked: false };
}

/** Undefined for a CA whose key is not stored. */
export function openAuthority(row: AuthorityRow, box: SecretBox): StoredAuthority | undefined {
  const { id, der, key_fingerprint, sealed_pkcs8, revoked_at } = row;
  if (key_fingerprint === null || sealed_pkcs8 === null) return undefined;
  const privateKey = importPrivateKey(box.open(sealed_pkcs8, privateKeyLabel(key_fingerprint)));
  return { id, certificate: parseCertificate(der), privateKey, isRevoked: revoked_at !== null };
}

export const CA_KEY_SIZES = [2048, 3072, 4096] as const;
export type CaKeySize = (typeof CA_KEY_SIZES)[number];

/** The key of a new CA; call it before the transaction, since a long key takes seconds. */
export function makeAuthorityKeys(bits: CaKeySize = CA_KEY_BITS): Promise<KeyPair> {
  return generateRsaKeyPair(bits);
}

export type AuthorityKeys = KeyPair;

export interface Rotation {
  made: StoredAuthority;
  /** The CA that issued until now, with what depends on it; undefined if there was none. */
  former: AuthorityUseRow | undefined;
}

/**
 * Makes a new CA, which issues from the commit on. The former one stays trusted for the identities
 * that it issued, and still answers messages addressed to it. Concurrent rotations run one by one.
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

/** `rotateAuthority` bound to the secret box, for the API. */
export class AuthorityRotations {
  constructor(private readonly box: SecretBox) {}

  rotate(trx: Transaction, keys: KeyPair): Promise<Rotation> {
    return rotateAuthority(trx, this.box, { keys });
  }
}

/** Self-signed, with a unique name: the names of two CAs must never be the same. */
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
