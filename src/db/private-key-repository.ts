import type { Knex } from 'knex';
import type { PrivateKeyRecord, SealedKeyRow } from './certificate-repository.js';

/** A CA's key is one that a certificate with the CA flag, or a request for one, names. */
export interface StoredKey extends SealedKeyRow {
  id: number;
  is_of_ca: boolean;
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

/** The key of a public key (SHA-256 of its SubjectPublicKeyInfo in hexadecimal), kept alive. */
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

export async function findPrivateKey(knex: Knex, id: number): Promise<StoredKey | undefined> {
  const isOfCa = knex.raw(
    `exists (select from certificates c where c.rsa_private_key_id = k.id and c.is_ca)
      or exists (
        select from certificate_signing_requests r
        where r.rsa_private_key_id = k.id and r.purpose = 'mdm.cacert'
      ) as is_of_ca`,
  );
  return await knex('rsa_private_keys as k')
    .where({ 'k.id': id })
    .first<StoredKey | undefined>('k.id', 'k.fingerprint_sha256', 'k.sealed_pkcs8', isOfCa);
}
