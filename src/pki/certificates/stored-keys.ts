import type { KeyObject } from 'node:crypto';
import {
  describeKey,
  exportPrivateKey,
  importPrivateKey,
  publicKeyFingerprint,
} from '../../crypto/keys/keys.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { findKeyId, findPrivateKey, storePrivateKey } from '../../db/pki/private-key-repository.js';
import { notFound } from '../../errors.js';
import { privateKeyLabel } from '../master-key/master-key.js';

/** Stores the key sealed, once for each public key. Returns the id of its row. */
export async function storeSealedKey(
  trx: Transaction,
  box: SecretBox,
  { key, name }: { key: KeyObject; name: string | null },
): Promise<number> {
  const fingerprint = publicKeyFingerprint(key).toString('hex');
  const { type, bits } = describeKey(key);
  return storePrivateKey(trx, {
    name,
    key_type: type,
    key_size: bits,
    fingerprint_sha256: fingerprint,
    sealed_pkcs8: box.seal(exportPrivateKey(key), privateKeyLabel(fingerprint)),
  });
}

/** The id of the stored private key of a public key; null when there is none. */
export async function findKeyFor(trx: Transaction, publicKey: KeyObject): Promise<number | null> {
  return (await findKeyId(trx, publicKeyFingerprint(publicKey).toString('hex'))) ?? null;
}

export interface OpenedKey {
  key: KeyObject;
  /** It belongs, or once belonged, to a CA. */
  isCaKey: boolean;
}

/** AppError 404 for an unknown id. */
export async function openPrivateKey(
  trx: Transaction,
  box: SecretBox,
  id: number,
): Promise<OpenedKey> {
  const row = await findPrivateKey(trx, id);
  if (row === undefined) throw notFound(`rsa_private_keys ${id}`);
  const pkcs8 = box.open(row.sealed_pkcs8, privateKeyLabel(row.fingerprint_sha256));
  return { key: importPrivateKey(pkcs8), isCaKey: row.is_ca_key };
}
