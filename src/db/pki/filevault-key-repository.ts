import type { Knex } from 'knex';

export interface FileVaultKeyRow {
  /** DER. */
  certificate: Buffer;
  /** PKCS #8. */
  sealedKey: Buffer;
}

/** Advisory lock of the process that makes the key pair. */
const KEY_LOCK = 0x6d75_6676;
const NAME = 'file_vault';

/** Held until the transaction ends: only one process makes the key pair. */
export async function lockFileVaultKey(trx: Knex.Transaction): Promise<void> {
  await trx.raw('select pg_advisory_xact_lock(?)', [KEY_LOCK]);
}

/** Undefined until the pair is made. */
export async function findFileVaultKey(knex: Knex): Promise<FileVaultKeyRow | undefined> {
  const row = await knex('server_settings')
    .where({ name: NAME })
    .first<{ value: { certificate: string; sealed_key: string } } | undefined>('value');
  if (row === undefined) return undefined;
  const { certificate, sealed_key } = row.value;
  return {
    certificate: Buffer.from(certificate, 'base64'),
    sealedKey: Buffer.from(sealed_key, 'base64'),
  };
}

export async function insertFileVaultKey(
  trx: Knex.Transaction,
  { certificate, sealedKey }: FileVaultKeyRow,
): Promise<void> {
  const value = {
    certificate: certificate.toString('base64'),
    sealed_key: sealedKey.toString('base64'),
  };
  await trx('server_settings').insert({ name: NAME, value: JSON.stringify(value) });
}
