import type { Knex } from 'knex';

export type CertificatePurpose =
  | 'mdm.cacert'
  | 'mdm.pushcert'
  | 'mdm.webcrt'
  | 'mdm.device'
  | 'mdm.encrypt'
  | 'mdm.vendor'
  | 'dep.stoken'
  | 'dep.anchor'
  | 'dep.supervision';

export interface CertificateRecord {
  purpose: CertificatePurpose;
  subject: string;
  issuer: string;
  /** Hexadecimal. */
  serial: string;
  x509_cn: string | null;
  not_before: Date;
  not_after: Date;
  fingerprint: Buffer;
  der: Buffer;
  is_ca: boolean;
  push_topic: string | null;
  /** Further certificates, its issuer first: DER one after the other. */
  chain_der?: Buffer | null;
  rsa_private_key_id?: number | null;
  /** Row of the signing request that it was issued for. */
  signing_request_id?: number | null;
  /** The Apple Account that can renew a push certificate. */
  apple_account?: string | null;
}

export interface PrivateKeyRecord {
  name: string | null;
  key_type: string;
  key_size: number;
  /** SHA-256 of the public key, hexadecimal. */
  fingerprint_sha256: string;
  sealed_pkcs8: Buffer;
}

export interface SealedKeyRow {
  fingerprint_sha256: string;
  sealed_pkcs8: Buffer;
}

const MASTER_KEY_CHECK = 'master_key_check';

/** Returns the id. A stored certificate violates a unique key (already_exists). */
export async function insertCertificate(knex: Knex, record: CertificateRecord): Promise<number> {
  return idOf(await knex('certificates').insert(record).returning<{ id: number }[]>('id'));
}

/** Returns the id. */
export async function insertPrivateKey(knex: Knex, record: PrivateKeyRecord): Promise<number> {
  return idOf(await knex('rsa_private_keys').insert(record).returning<{ id: number }[]>('id'));
}

/** As insertCertificate; undefined when the certificate is already stored. */
export async function insertNewCertificate(
  knex: Knex,
  record: CertificateRecord,
): Promise<number | undefined> {
  const [row] = await knex('certificates')
    .insert(record)
    .onConflict('fingerprint')
    .ignore()
    .returning<{ id: number }[]>('id');
  return row?.id;
}

/**
 * Adds the private key, and other missing columns, to a stored certificate. Does nothing and
 * returns undefined when that has a key or another purpose, or is revoked.
 */
export async function completeCertificate(
  knex: Knex,
  record: CertificateRecord,
): Promise<number | undefined> {
  const { fingerprint, purpose, rsa_private_key_id, chain_der = null } = record;
  const { signing_request_id = null, apple_account = null } = record;
  const missing = (column: string, value: unknown) =>
    knex.raw('coalesce(??, ?)', [column, value as Buffer | number | string | null]);
  const [row] = await knex('certificates')
    .where({ fingerprint, purpose })
    .whereNull('rsa_private_key_id')
    .whereNull('revoked_at')
    .update({
      rsa_private_key_id,
      chain_der: missing('chain_der', chain_der),
      signing_request_id: missing('signing_request_id', signing_request_id),
      apple_account: missing('apple_account', apple_account),
    })
    .returning<{ id: number }[]>('id');
  return row?.id;
}

export interface KnownCertificate {
  id: number;
  purpose: CertificatePurpose;
  revoked_at: Date | null;
}

/** By the SHA-256 of its DER. */
export async function findByFingerprint(
  knex: Knex,
  fingerprint: Buffer,
): Promise<KnownCertificate | undefined> {
  return await knex('certificates')
    .where({ fingerprint })
    .first<KnownCertificate | undefined>('id', 'purpose', 'revoked_at');
}

/** Sets the time of revocation; for a revoked certificate it changes nothing. */
export async function revokeCertificate(knex: Knex, id: number): Promise<void> {
  await knex('certificates')
    .where({ id })
    .whereNull('revoked_at')
    .update({ revoked_at: knex.fn.now() });
}

/** The bytes sealed at the first start, with which a later start checks the master key. */
export async function readMasterKeyCheck(knex: Knex): Promise<Buffer | undefined> {
  const row = await knex('server_settings')
    .where({ name: MASTER_KEY_CHECK })
    .first<{ value: { sealed: string } } | undefined>('value');
  return row === undefined ? undefined : Buffer.from(row.value.sealed, 'base64');
}

/** Writes the check unless there is one. */
export async function writeMasterKeyCheck(knex: Knex, sealed: Buffer): Promise<void> {
  const value = JSON.stringify({ sealed: sealed.toString('base64') });
  await knex('server_settings')
    .insert({ name: MASTER_KEY_CHECK, value })
    .onConflict('name')
    .ignore();
}

/** Any sealed private key, to check the master key of a database without the check. */
export async function anySealedKey(knex: Knex): Promise<SealedKeyRow | undefined> {
  return await knex('rsa_private_keys')
    .orderBy('id')
    .first<SealedKeyRow | undefined>('fingerprint_sha256', 'sealed_pkcs8');
}

function idOf(rows: { id: number }[]): number {
  const [row] = rows;
  if (row === undefined) throw new Error('insert returned no row');
  return row.id;
}
