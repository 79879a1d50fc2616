import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';
import { IS_OTHER_FAILURE } from './dep-profile-failures.js';

/** A DEP profile, by the columns of `dep_profiles`. */
export interface DepProfile {
  profile_name: string;
  /** Where devices ask for their enrollment profile. */
  url: string;
  /** Whether the url is this server's own, which follows PUBLIC_URL. */
  follows_public_url: boolean;
  allow_pairing: boolean;
  is_supervised: boolean;
  is_multi_user: boolean;
  is_mandatory: boolean;
  await_device_configured: boolean;
  is_mdm_removable: boolean;
  auto_advance_setup: boolean;
  support_phone_number: string | null;
  support_email_address: string | null;
  org_magic: string | null;
  department: string | null;
  language: string | null;
  region: string | null;
  configuration_web_url: string | null;
  /** Base64 of DER; null: the certificates of this server. */
  anchor_certs: string[] | null;
  supervising_host_certs: string[] | null;
  skip_setup_items: string[] | null;
}

/** A row of `dep_profiles` with the state of its definition at Apple. */
export interface DepProfileRow extends DepProfile {
  id: number;
  dep_account_id: number | null;
  /** UUID of the last definition at Apple. */
  uuid: string | null;
  definition_digest: Buffer | null;
  status: 'local' | 'pending' | 'defined' | 'failed';
  status_text: string | null;
  /** When `status` was last written. */
  status_at: Date | null;
}

/** With `lock` the row is locked until the transaction ends. */
export async function findDepProfile(
  knex: Knex,
  id: number,
  { lock = false } = {},
): Promise<DepProfileRow | undefined> {
  const query = knex('dep_profiles').where({ id });
  return await (lock ? query.forUpdate() : query).first<DepProfileRow | undefined>();
}

/** Profiles of an account, in the order of their ids. */
export async function listDepProfiles(
  knex: Knex,
  dep_account_id: number,
): Promise<DepProfileRow[]> {
  return await knex('dep_profiles')
    .where({ dep_account_id })
    .orderBy('id')
    .select<DepProfileRow[]>();
}

/** DER of the certificates of computers that may supervise devices. */
export async function findSupervisorCertificates(knex: Knex): Promise<Buffer[]> {
  return await knex('certificates')
    .where({ purpose: 'dep.supervision', revoked_at: null })
    .orderBy('id')
    .pluck<Buffer[]>('der');
}

export interface DefinitionStatus extends Pick<DepProfileRow, 'status' | 'status_text'> {
  status_advice: string | null;
}

/** Writes whether Apple has the profile's definition. One that stays pending keeps its `status_at`. */
export async function updateDefinitionStatus(
  trx: Transaction,
  id: number,
  values: DefinitionStatus,
): Promise<void> {
  const at = "case when status = 'pending' and ? = 'pending' then status_at else now() end";
  const status_at = trx.raw(at, [values.status]);
  await trx('dep_profiles')
    .where({ id })
    .update({ ...values, status_at });
}

/** What Apple has of a profile. */
export type UploadedDefinition = Pick<DepProfileRow, 'uuid' | 'definition_digest' | 'url'>;

/** Records that Apple has just accepted this definition of the profile. */
export async function recordUpload(
  trx: Transaction,
  id: number,
  uploaded: UploadedDefinition,
): Promise<void> {
  const status = { status: 'defined', status_text: null, status_advice: null };
  const now = trx.fn.now();
  await trx('dep_profiles')
    .where({ id })
    .update({ ...uploaded, ...status, status_at: now, last_upload_at: now });
}

/** Marks profiles of an account as waiting for a new definition. */
export async function markProfilesPending(trx: Transaction, ids: readonly number[]): Promise<void> {
  await trx('dep_profiles')
    .whereIn('id', [...ids])
    .whereNotNull('dep_account_id')
    .whereNot({ status: 'pending' })
    .update({ status: 'pending', status_text: null, status_advice: null, status_at: trx.fn.now() });
}

export interface ProfileDefinitionRecord {
  uuid: string;
  accountId: number;
  /** null: the profile was deleted meanwhile. */
  profileId: number | null;
  digest: Buffer;
}

const RECORD = `
insert into dep_profile_definitions (uuid, dep_profile_id, dep_account_id, digest)
select ?::uuid, ?::bigint, id, ?::bytea from dep_accounts where id = ?
on conflict (uuid) do nothing`;

/** Records that this server defined the UUID; stores nothing if the account was deleted. */
export async function recordDefinition(
  trx: Transaction,
  { uuid, profileId, digest, accountId }: ProfileDefinitionRecord,
): Promise<void> {
  await trx.raw(RECORD, [uuid, profileId, digest, accountId]);
}

// Locks in the order of ids, like every statement that locks many rows.
const DUE = `
with due as (
  select e.id from devices d
  join dep_devices e on e.device_id = d.id
  where d.dep_profile_id = ? and e.dep_account_id = ? and e.removed_at is null
  order by e.id for update of e
)
update dep_devices e set assignment_due_at = now(), assignment_attempts = 0,
  assignment_result = null, (last_error, last_error_at) = (
    select last_error, last_error_at where ${IS_OTHER_FAILURE})
from due where e.id = due.id`;

// Triggers create the rows on assignment; these devices had the profile before it had an account.
const MAKE_ROWS = `
insert into dep_devices (dep_account_id, serial_number, device_id, is_enrolled, enrolled_at)
select distinct on (d.serial_number) a.id, d.serial_number, d.id, d.is_enrolled,
  case when d.is_enrolled then d.enrolled_at end
from devices d join dep_accounts a on a.id = ?
where d.dep_profile_id = ? and d.serial_number is not null
  and not exists (select from dep_devices e where e.device_id = d.id and e.dep_account_id = a.id)
order by d.serial_number, d.is_enrolled desc, d.udid is null, d.id
on conflict (dep_account_id, serial_number) do update
  set device_id = excluded.device_id, is_enrolled = excluded.is_enrolled,
    enrolled_at = coalesce(excluded.enrolled_at, dep_devices.enrolled_at)
  where dep_devices.device_id is null`;

interface ProfileOfAccount {
  profileId: number;
  accountId: number;
}

/** Creates missing rows of `dep_devices` for the profile's devices. */
export async function makeProfileRows(
  trx: Transaction,
  { profileId, accountId }: ProfileOfAccount,
): Promise<void> {
  await trx.raw(MAKE_ROWS, [accountId, profileId]);
}

/** Makes the assignment of each of the profile's devices due. Returns their number. */
export async function makeProfileDue(
  trx: Transaction,
  { profileId, accountId }: ProfileOfAccount,
): Promise<number> {
  await makeProfileRows(trx, { profileId, accountId });
  const { rowCount } = await trx.raw<{ rowCount: number }>(DUE, [profileId, accountId]);
  return rowCount;
}

/** Where a profile is used. */
export interface ProfileUses {
  devices: number;
  /** Ids of accounts that have it as a default. */
  defaultOf: number[];
}

const USES = `
select
  (select count(*) from devices d where d.dep_profile_id = :id and not exists (
    select from dep_devices x join dep_profiles p on p.dep_account_id = x.dep_account_id
    where x.device_id = d.id and p.id = d.dep_profile_id and x.removed_at is not null)
  ) as devices,
  array(
    select id from dep_accounts where :id in (default_dep_profile_id, default_iphone_profile_id,
      default_ipad_profile_id, default_mac_profile_id, default_apple_tv_profile_id,
      default_vision_profile_id)
    order by id
  ) as "defaultOf"`;

/** Devices and accounts that use the profile; removed devices do not count. */
export async function findProfileUses(knex: Knex, id: number): Promise<ProfileUses> {
  const { rows } = await knex.raw<{ rows: ProfileUses[] }>(USES, { id });
  return rows[0] ?? { devices: 0, defaultOf: [] };
}
