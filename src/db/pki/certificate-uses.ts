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

/** What would break if the certificate were gone, or of another purpose. */
export interface CertificateUses {
  /** A device has signed, or will sign, its messages with it. */
  is_identity: boolean;
  /** Devices that are enrolled get their pushes by its topic, and no other certificate has it. */
  pushes: boolean;
  /** Identities of devices were issued by it: here, or elsewhere to devices that are enrolled. */
  issued: boolean;
  /** New identities are. */
  signs: boolean;
  /** It is revoked, and the revocation list of the CA of ours that issued it has to tell so. */
  is_listed: boolean;
  /** Apple knows the server of an account by it. */
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
      ...['id', 'purpose', 'der', 'rsa_private_key_id', 'apple_account'],
    );
}

export async function updateCertificate(
  trx: Knex.Transaction,
  id: number,
  values: Partial<Omit<StoredCertificate, 'id' | 'der'>> & { push_topic?: string | null },
): Promise<void> {
  if (Object.keys(values).length > 0) await trx('certificates').where({ id }).update(values);
}

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

/** One statement. */
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

/** Which Apple account made the certificates of a topic: the last one that was told. */
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

/** The certificate's DER, and that of its chain as it is stored. */
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
