import type { Knex } from 'knex';

/** A unit of work, for those who pass it on without knowing the library. */
export type Transaction = Knex.Transaction;

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
  /** Hexadecimal, as the certificate says it. */
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
}

export interface PrivateKeyRecord {
  name: string | null;
  key_type: string;
  key_size: number;
  /** Of the public key; hexadecimal. */
  fingerprint_sha256: string;
  sealed_pkcs8: Buffer;
}

export interface AuthorityRow {
  id: number;
  der: Buffer;
  key_fingerprint: string | null;
  sealed_pkcs8: Buffer | null;
}

export interface SealedKeyRow {
  fingerprint_sha256: string;
  sealed_pkcs8: Buffer;
}

/** Advisory lock of the one process that makes the certificate authority. */
const AUTHORITY_LOCK = 0x6d75_6361;
const MASTER_KEY_CHECK = 'master_key_check';

/** Held until the transaction ends: only one process at a time makes or reads the first CA. */
export async function lockAuthority(trx: Knex.Transaction): Promise<void> {
  await trx.raw('select pg_advisory_xact_lock(?)', [AUTHORITY_LOCK]);
}

/** Certificates of the CAs believed in that are not revoked, newest first, with their sealed keys. */
export async function listAuthorities(knex: Knex): Promise<AuthorityRow[]> {
  return await knex('certificates as c')
    .leftJoin('rsa_private_keys as k', 'k.id', 'c.rsa_private_key_id')
    .where({ 'c.purpose': 'mdm.cacert', 'c.is_ca': true })
    .whereNull('c.revoked_at')
    .orderBy('c.id', 'desc')
    .select<AuthorityRow[]>(
      'c.id',
      'c.der',
      'k.fingerprint_sha256 as key_fingerprint',
      'k.sealed_pkcs8',
    );
}

/** Returns the id. A certificate that is there already violates a unique key (already_exists). */
export async function insertCertificate(knex: Knex, record: CertificateRecord): Promise<number> {
  return idOf(await knex('certificates').insert(record).returning<{ id: number }[]>('id'));
}

/** Returns the id. */
export async function insertPrivateKey(knex: Knex, record: PrivateKeyRecord): Promise<number> {
  return idOf(await knex('rsa_private_keys').insert(record).returning<{ id: number }[]>('id'));
}

/** As insertCertificate; undefined when the certificate is there already. */
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
 * Gives a certificate that is there its private key, and a chain if it has none. Undefined, and nothing
 * is done, when it has a key, is for another purpose, or revoked.
 */
export async function completeCertificate(
  knex: Knex,
  record: CertificateRecord,
): Promise<number | undefined> {
  const { fingerprint, purpose, rsa_private_key_id, chain_der = null } = record;
  const [row] = await knex('certificates')
    .where({ fingerprint, purpose })
    .whereNull('rsa_private_key_id')
    .whereNull('revoked_at')
    .update({ rsa_private_key_id, chain_der: knex.raw('coalesce(chain_der, ?)', [chain_der]) })
    .returning<{ id: number }[]>('id');
  return row?.id;
}

/** Sets the time of revocation once; revoking again changes nothing. */
export async function revokeCertificate(knex: Knex, id: number): Promise<void> {
  await knex('certificates')
    .where({ id })
    .whereNull('revoked_at')
    .update({ revoked_at: knex.fn.now() });
}

/** The bytes sealed at the first start, by which a later start knows the master key again. */
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

/** Any one sealed private key, to try the master key on where no check was written. */
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
