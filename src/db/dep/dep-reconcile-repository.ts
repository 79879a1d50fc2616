import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';

/**
 * Repair for one serial number. create_record: create or re-mark its device row. assign_default:
 * assign the account's default profile. move_to_new_default: the default changed, assign the new one.
 * resend: Apple has another profile than wanted, send ours again. unassign: Apple has one of our
 * profiles though none is wanted, remove it.
 */
export type Repair =
  | 'create_record'
  | 'assign_default'
  | 'move_to_new_default'
  | 'resend'
  | 'unassign';

export interface DriftedRow {
  /** Id in `dep_devices`. */
  id: number;
  repair: Repair;
  /** The default profile to assign. */
  profileId: number | null;
  /** The profile wanted until now. */
  formerId: number | null;
}

export interface Examined {
  /** Id of the last examined row; null: no rows are left. */
  last: number | null;
  /** How many of the examined rows have a current error. */
  failing: number;
  rowsToRepair: DriftedRow[];
}

const FAMILY_DEFAULTS = `
case
  when r.device_family ilike 'iphone%' or r.device_family ilike 'ipod%' then f.iphone
  when r.device_family ilike 'ipad%' then f.ipad
  when r.device_family ilike 'mac%' then f.mac
  when r.device_family ilike 'appletv%' or r.device_family ilike 'apple tv%' then f.apple_tv
  when r.device_family ilike '%vision%' or r.device_family ilike '%reality%' then f.vision
end`;

const DEFAULTS = ['iphone', 'ipad', 'mac', 'apple_tv', 'vision'].map(
  (family) => `(select p.id from dep_profiles p
      where p.id = a.default_${family}_profile_id and p.dep_account_id = a.id) as ${family}`,
);

/** SQL, of device `d`, wanted profile `p`, row `r`: the profile's account no longer has the device. */
const IS_OF_FORMER_ACCOUNT = `(p.dep_account_id <> r.dep_account_id and not exists (
  select from dep_devices o where o.device_id = d.id and o.dep_account_id = p.dep_account_id
    and o.removed_at is null))`;

// Devices are looked up one by one: a join would be planned as a scan of all devices for each part.
// Due rows are sent anyway, and a profile that becomes defined makes its devices due.
const EXAMINE = `
with f as materialized (
  select ${DEFAULTS.join(', ')},
    (select p.id from dep_profiles p
      where p.id = a.default_dep_profile_id and p.dep_account_id = a.id) as other,
    (select array_agg(x.uuid::text) from dep_profile_definitions x
      where x.dep_account_id = a.id) as ours
  from dep_accounts a where a.id = :account
), part as materialized (
  select r.id, r.dep_account_id, r.device_id, r.device_family, r.profile_uuid, r.auto_assign,
    r.by_default, r.assignment_due_at, r.listed_at, r.removed_at, r.last_error
  from dep_devices r
  where r.dep_account_id = :account and r.id > :after
  order by r.id limit :limit
), judged as (
  select r.id, coalesce(${FAMILY_DEFAULTS}, f.other) as chosen, d.dep_profile_id as former,
    case
      when r.device_id is null then case when r.listed_at is not null then 'create_record' end
      when r.listed_at is not null and not d.is_dep then 'create_record'
      when d.dep_profile_id is null or ${IS_OF_FORMER_ACCOUNT} then case
        when r.auto_assign and r.listed_at is not null
          and coalesce(${FAMILY_DEFAULTS}, f.other) is not null then 'assign_default'
        when r.assignment_due_at is null and d.dep_profile_id is null
          and r.profile_uuid = any(f.ours) then 'unassign' end
      when r.by_default and r.auto_assign and r.listed_at is not null
        and p.dep_account_id = :account
        and coalesce(${FAMILY_DEFAULTS}, f.other) <> d.dep_profile_id then 'move_to_new_default'
      when r.assignment_due_at is null and p.dep_account_id = :account and p.status = 'defined'
        and r.profile_uuid is distinct from p.uuid::text then 'resend'
    end as repair
  from part r cross join f
  left join lateral (
    select id, dep_profile_id, is_dep from devices where id = r.device_id limit 1) d on true
  left join dep_profiles p on p.id = d.dep_profile_id
  where r.removed_at is null
)
select whole.*, judged.id, judged.repair, judged.chosen, judged.former
from (
  select case when count(*) = :limit then max(id) end as last,
    count(*) filter (where last_error is not null and removed_at is null) as failing
  from part
) whole
left join judged on judged.repair is not null
order by judged.id`;

interface ExaminedRow {
  last: number | null;
  failing: number;
  id: number | null;
  repair: Repair;
  chosen: number | null;
  former: number | null;
}

/**
 * Examines the account's next rows of `dep_devices` in the order of ids. It takes no locks: the
 * statements that repair check the conditions again.
 */
export async function examineAssignments(
  knex: Knex,
  { accountId, after, limit }: { accountId: number; after: number; limit: number },
): Promise<Examined> {
  const bindings = { account: accountId, after, limit };
  const { rows } = await knex.raw<{ rows: ExaminedRow[] }>(EXAMINE, bindings);
  const rowsToRepair = rows.flatMap(({ id, repair, chosen, former }) =>
    id === null ? [] : [{ id, repair, profileId: chosen, formerId: former }],
  );
  return { last: rows[0]?.last ?? null, failing: rows[0]?.failing ?? 0, rowsToRepair };
}

// Locks in the order of the devices' ids, like every statement that locks many rows.
const ASSIGN_DEFAULTS = `
with held as (
  select d.id, w.row_id, w.profile_id
  from unnest(:ids::bigint[], :profiles::bigint[], :formers::bigint[])
    as w (row_id, profile_id, former_id)
  join dep_devices r on r.id = w.row_id
  join dep_profiles n on n.id = w.profile_id and n.dep_account_id = r.dep_account_id
  join devices d on d.id = r.device_id
  left join dep_profiles p on p.id = d.dep_profile_id
  where r.removed_at is null and r.auto_assign
    and d.dep_profile_id is not distinct from w.former_id
    and (r.by_default or d.dep_profile_id is null or ${IS_OF_FORMER_ACCOUNT})
  order by d.id for no key update of d
)
update devices d set dep_profile_id = held.profile_id from held where d.id = held.id
returning held.row_id as id`;

// The trigger treats every assignment as made by an admin.
const MARK_DEFAULTS = 'update dep_devices set by_default = true where id = any(?::bigint[])';

/**
 * Assigns the account's default profile to devices without a profile chosen by an admin, also in
 * place of a former default. Returns their number.
 */
export async function assignDefaultProfiles(
  trx: Transaction,
  drifted: readonly DriftedRow[],
): Promise<number> {
  const { rows } = await trx.raw<{ rows: { id: number }[] }>(ASSIGN_DEFAULTS, {
    ids: drifted.map(({ id }) => id),
    profiles: drifted.map(({ profileId }) => profileId),
    formers: drifted.map(({ formerId }) => formerId),
  } as Record<string, Knex.RawBinding>);
  await trx.raw(MARK_DEFAULTS, [rows.map(({ id }) => id)]);
  return rows.length;
}

const MAKE_DUE = `
update dep_devices set assignment_due_at = now(), assignment_attempts = 0 where id in (
  select id from dep_devices
  where id = any(:ids::bigint[]) and assignment_due_at is null and removed_at is null
  order by id for update)`;

/** Makes assignments due again. Returns the number of rows that were not due already. */
export async function makeAssignmentsDue(
  knex: Knex,
  drifted: readonly DriftedRow[],
): Promise<number> {
  const ids = drifted.map(({ id }) => id);
  return (await knex.raw<{ rowCount: number }>(MAKE_DUE, { ids })).rowCount;
}

/** Numbers of repairs, and of serial numbers with a current error. */
export interface ReconcileReport {
  auto_assigned: number;
  /** From a former default to the present one. */
  auto_reassigned: number;
  reassigned: number;
  unassigned: number;
  records_made: number;
  redefined: number;
  failing: number;
}

const STORE_REPORT = `
update dep_accounts set reconciled_at = now(), reconcile_report = coalesce(
  jsonb_build_object('at', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    || cast(? as jsonb), reconcile_report)
where id = ?
returning id`;

/** A null report keeps the former one. Returns false if the account was deleted. */
export async function storeReconcileReport(
  trx: Transaction,
  accountId: number,
  report: ReconcileReport | null,
): Promise<boolean> {
  const json = report && JSON.stringify(report);
  const { rows } = await trx.raw<{ rows: unknown[] }>(STORE_REPORT, [json, accountId]);
  return rows.length > 0;
}

const TO_RECONCILE = `
select id from dep_accounts a
where a.access_token is not null
  and not exists (select from jobs where key = :task || '/' || a.id and status <> 'dead')
order by id`;

/** Accounts with a token and without a job of `task`, whose key is the account id. */
export async function listAccountsToReconcile(knex: Knex, task: string): Promise<number[]> {
  const { rows } = await knex.raw<{ rows: { id: number }[] }>(TO_RECONCILE, { task });
  return rows.map(({ id }) => id);
}
