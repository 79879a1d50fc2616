import type { Knex } from 'knex';

/** A CA of the lab's own. */
export interface LabSetting {
  /** DER. */
  certificate: Buffer;
  /** PKCS #8. */
  sealedKey: Buffer;
}

export interface PushCertificate {
  id: number;
  der: Buffer;
  not_after: Date;
  /** Muster has its key, and it is not revoked. */
  is_usable: boolean;
}

interface StoredSetting {
  ca: string;
  sealed_key: string;
}

/** The lab's CA in place of Apple's, and its device CA. */
export type LabSettingName = 'lab' | 'lab_device_ca';

/** More serial numbers than a trial needs. */
const MAX_SERIALS = 1000;
/** Advisory lock of the process that creates the lab's CA. */
const LAB_LOCK = 0x6d75_6c61;

/** Locks the lab's settings until the transaction ends. */
export async function lockLab(trx: Knex.Transaction): Promise<void> {
  await trx.raw('select pg_advisory_xact_lock(?)', [LAB_LOCK]);
}

/** undefined where the lab has never been on. */
export async function readLabSetting(
  knex: Knex,
  name: LabSettingName = 'lab',
): Promise<LabSetting | undefined> {
  const row = await knex('server_settings')
    .where({ name })
    .first<{ value: StoredSetting } | undefined>('value');
  if (row === undefined) return undefined;
  return {
    certificate: Buffer.from(row.value.ca, 'base64'),
    sealedKey: Buffer.from(row.value.sealed_key, 'base64'),
  };
}

export async function writeLabSetting(
  trx: Knex.Transaction,
  { certificate, sealedKey }: LabSetting,
  name: LabSettingName = 'lab',
): Promise<void> {
  const value: StoredSetting = {
    ca: certificate.toString('base64'),
    sealed_key: sealedKey.toString('base64'),
  };
  await trx('server_settings').insert({ name, value: JSON.stringify(value) });
}

/** All of them, newest first. */
export async function listAllPushCertificates(knex: Knex): Promise<PushCertificate[]> {
  return await knex('certificates')
    .where({ purpose: 'mdm.pushcert' })
    .orderBy('id', 'desc')
    .select<PushCertificate[]>(
      'id',
      'der',
      'not_after',
      knex.raw('revoked_at is null and rsa_private_key_id is not null as is_usable'),
    );
}

/** Ids of accounts whose token is from Apple, not from the lab. */
export async function listRealDepAccounts(knex: Knex): Promise<number[]> {
  return await knex('dep_accounts')
    .where({ is_lab: false })
    .whereNotNull('consumer_key')
    .orderBy('id')
    .pluck<number[]>('id');
}

/** The status of the lab's accounts while the lab is off. */
export interface LabOffStatus {
  text: string;
  advice: string | null;
}

/** Marks the lab's accounts as off. Returns how many were not marked before. */
export async function suspendLabAccounts(
  trx: Knex.Transaction,
  { text, advice }: LabOffStatus,
): Promise<number> {
  return await trx('dep_accounts').where({ is_lab: true }).whereNot({ status: 'lab_off' }).update({
    status: 'lab_off',
    status_text: text,
    status_advice: advice,
    status_at: trx.fn.now(),
  });
}

/** Marks suspended accounts as unconfirmed. Returns their ids. */
export async function resumeLabAccounts(trx: Knex.Transaction): Promise<number[]> {
  const rows: { id: number }[] = await trx('dep_accounts')
    .where({ is_lab: true, status: 'lab_off' })
    .update({
      status: 'unconfirmed',
      status_text: null,
      status_advice: null,
      status_at: trx.fn.now(),
    })
    .returning('id');
  return rows.map(({ id }) => id);
}

/** Serial numbers of DEP devices that are not enrolled, the oldest first. */
export async function listWaitingSerials(knex: Knex): Promise<string[]> {
  return await knex('devices')
    .where({ is_dep: true, is_enrolled: false })
    .whereNotNull('serial_number')
    .orderBy('id')
    .limit(MAX_SERIALS)
    .pluck<string[]>('serial_number');
}
