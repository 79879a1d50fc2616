import type { Knex } from 'knex';
import type { CertificatePurpose } from './certificate-repository.js';

export interface StoredCertificate {
  id: number;
  purpose: CertificatePurpose;
  der: Buffer;
  rsa_private_key_id: number | null;
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
}

/** Locked until the transaction ends; undefined when there is none. */
export async function lockCertificate(
  trx: Knex.Transaction,
  id: number,
): Promise<StoredCertificate | undefined> {
  return await trx('certificates')
    .where({ id })
    .forUpdate()
    .first<StoredCertificate | undefined>('id', 'purpose', 'der', 'rsa_private_key_id');
}

export async function updateCertificate(
  trx: Knex.Transaction,
  id: number,
  values: Partial<Pick<StoredCertificate, 'purpose' | 'rsa_private_key_id'>> & {
    push_topic?: string | null;
  },
): Promise<void> {
  if (Object.keys(values).length > 0) await trx('certificates').where({ id }).update(values);
}

export async function deleteCertificate(trx: Knex.Transaction, id: number): Promise<void> {
  await trx('certificates').where({ id }).delete();
}

const USES = `
select
  exists (select from device_identities i where i.fingerprint = c.fingerprint)
    or exists (select from scep_challenges s where s.certificate_id = c.id) as is_identity,
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
  c.id = (
    select min(a.id) from certificates a
    where a.purpose = 'mdm.cacert' and a.is_ca and a.revoked_at is null
      and a.rsa_private_key_id is not null
  ) as signs
from certificates c where c.id = ?`;

/** One statement. `signs` as the certificate authority chooses: the oldest CA with a key. */
export async function certificateUses(
  trx: Knex.Transaction,
  id: number,
): Promise<CertificateUses | undefined> {
  const { rows } = await trx.raw<{ rows: CertificateUses[] }>(USES, [id]);
  return rows[0];
}

/** The certificate's DER. */
export async function findCertificateFile(knex: Knex, id: number): Promise<Buffer | undefined> {
  const row = await knex('certificates').where({ id }).first<{ der: Buffer } | undefined>('der');
  return row?.der;
}
