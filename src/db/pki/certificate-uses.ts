import type { Knex } from 'knex';
import type { CertificatePurpose } from './certificate-repository.js';
import { LISTED_AFTER_END } from './revocation-repository.js';

export interface StoredCertificate {
  id: number;
  purpose: CertificatePurpose;
  der: Buffer;
  rsa_private_key_id: number | null;
  apple_account: string | null;
}

/** Columns to write; undefined = unchanged. */
export interface CertificateChanges {
  purpose?: CertificatePurpose | undefined;
  push_topic?: string | null | undefined;
  apple_account?: string | null | undefined;
  rsa_private_key_id?: number | null | undefined;
}

/** What would break if the certificate were deleted or had another purpose. */
export interface CertificateUses {
  /** A device has signed, or will sign, its messages with it. */
  is_identity: boolean;
  /** Enrolled devices have its topic, and no other usable certificate has it. */
  pushes: boolean;
  /** It issued identities of devices: stored ones, or those of enrolled devices. */
  issued: boolean;
  /** It is the issuing CA. */
  signs: boolean;
  /** It is revoked, and the revocation list of a CA made here must still contain it. */
  is_listed: boolean;
  /** Apple encrypts the server token of a DEP account to it. */
  is_token_certificate: boolean;
}

/** Locked until the transaction ends; undefined when there is none. */
export async function lockCertificate(
  trx: Knex.Transaction,
  id: number,
): Promise<StoredCertificate | undefined> {
  return await trx('certificates')
    .where({ id })
    .forUpdate()
    .first<StoredCertificate | undefined>(
      'id',
      'purpose',
      'der',
      'rsa_private_key_id',
      'apple_account',
    );
}

/** Writes the changes, if there are any. */
export async function updateCertificate(
  trx: Knex.Transaction,
  id: number,
  changes: CertificateChanges,
): Promise<void> {
  if (Object.values(changes).every((value) => value === undefined)) return;
  await trx('certificates').where({ id }).update(changes);
}

/** The caller has checked the uses. */
export async function deleteCertificate(trx: Knex.Transaction, id: number): Promise<void> {
  await trx('certificates').where({ id }).delete();
}

const USES = `
select
  exists (
    select from device_identities i where i.fingerprint = c.fingerprint and i.state <> 'revoked'
  ) or exists (select from scep_challenges s where s.certificate_id = c.id) as is_identity,
  c.purpose = 'mdm.pushcert' and c.revoked_at is null and c.rsa_private_key_id is not null
    and exists (select from devices d where d.is_enrolled and d.topic = c.push_topic)
    and not exists (
      select from certificates o
      where o.purpose = 'mdm.pushcert' and o.push_topic = c.push_topic
        and o.id <> c.id and o.revoked_at is null and o.not_after > now()
        and o.rsa_private_key_id is not null
    ) as pushes,
  c.purpose = 'mdm.cacert' and (exists (
    select from certificates i where i.purpose = 'mdm.device' and i.issuer = c.subject
  ) or exists (
    select from device_identities i join devices d on d.id = i.device_id
    where i.issuer = c.fingerprint and i.state in ('active', 'renewal')
      and d.enrollment_state in ('authenticated', 'enrolled')
  )) as issued,
  c.issues_identities and c.revoked_at is null as signs,
  c.revoked_at is not null and c.not_after > now() - ${LISTED_AFTER_END} and exists (
    select from certificates a where a.is_own_ca and a.subject = c.issuer and a.id <> c.id
  ) as is_listed,
  exists (
    select from dep_accounts t where t.token_certificate_id = c.id
  ) as is_token_certificate
from certificates c where c.id = ?`;

/** The uses of a certificate, in one statement; undefined for an unknown id. */
export async function certificateUses(
  trx: Knex.Transaction,
  id: number,
): Promise<CertificateUses | undefined> {
  const { rows } = await trx.raw<{ rows: CertificateUses[] }>(USES, [id]);
  return rows[0];
}

/** Whether any certificate here, revoked and expired ones too, has the topic. */
export async function hasPushTopic(knex: Knex, push_topic: string): Promise<boolean> {
  const row = await knex('certificates').where({ purpose: 'mdm.pushcert', push_topic }).first('id');
  return row !== undefined;
}

/** The Apple Account of the certificates of a topic: that of the newest one that has any. */
export async function findAppleAccount(
  knex: Knex,
  push_topic: string,
): Promise<string | undefined> {
  const row = await knex('certificates')
    .where({ purpose: 'mdm.pushcert', push_topic })
    .whereNotNull('apple_account')
    .orderBy('id', 'desc')
    .first<{ apple_account: string } | undefined>('apple_account');
  return row?.apple_account;
}

export interface CertificateFile {
  der: Buffer;
  chain_der: Buffer | null;
}

/** The certificate's DER, and its chain as stored. */
export async function findCertificateFile(
  knex: Knex,
  id: number,
): Promise<CertificateFile | undefined> {
  return await knex('certificates')
    .where({ id })
    .first<CertificateFile | undefined>('der', 'chain_der');
}

/** DER of the CAs of this name (RFC 4514) that are not revoked; the last to expire first. */
export async function findAuthoritiesNamed(knex: Knex, subject: string): Promise<Buffer[]> {
  const rows = await knex('certificates')
    .where({ subject, is_ca: true })
    .whereNull('revoked_at')
    .orderBy('not_after', 'desc')
    .limit(8)
    .select<{ der: Buffer }[]>('der');
  return rows.map(({ der }) => der);
}
