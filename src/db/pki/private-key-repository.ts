import type { Knex } from 'knex';
import type { PrivateKeyRecord, SealedKeyRow } from './certificate-repository.js';

export interface StoredKey extends SealedKeyRow {
  id: number;
  /** It belongs, or once belonged, to a CA or to a request for one. */
  is_ca_key: boolean;
}

/** Stores a key once for each public key. Returns the id of the row. */
export async function storePrivateKey(
  trx: Knex.Transaction,
  record: PrivateKeyRecord,
): Promise<number> {
  const [row] = await trx('rsa_private_keys')
    .insert(record)
    .onConflict('fingerprint_sha256')
    .ignore()
    .returning<{ id: number }[]>('id');
  const id = row?.id ?? (await findKeyId(trx, record.fingerprint_sha256));
  if (id === undefined) throw new Error('the key was removed while it was stored');
  return id;
}

/** The key with this SHA-256 of its SubjectPublicKeyInfo (hexadecimal), locked against deletion. */
export async function findKeyId(
  trx: Knex.Transaction,
  fingerprint_sha256: string,
): Promise<number | undefined> {
  const row = await trx('rsa_private_keys')
    .where({ fingerprint_sha256 })
    .forKeyShare()
    .first<{ id: number } | undefined>('id');
  return row?.id;
}

/** Undefined for an unknown id. */
export async function findPrivateKey(knex: Knex, id: number): Promise<StoredKey | undefined> {
  return await knex('rsa_private_keys')
    .where({ id })
    .first<StoredKey | undefined>('id', 'fingerprint_sha256', 'sealed_pkcs8', 'is_ca_key');
}
