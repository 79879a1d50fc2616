import type { Transaction } from '../connection/unit-of-work.js';
import { isDistinctiveSerial } from '../enroll/distinctive-serial.js';
import { rowOf, type SyncPosition } from './dep-sync-position.js';

/** A device as Apple's service lists it; every member but the serial number may be missing. */
export interface DepListing {
  serialNumber: string;
  model: string | null;
  description: string | null;
  color: string | null;
  assetTag: string | null;
  os: string | null;
  deviceFamily: string | null;
  deviceAssignedBy: string | null;
  deviceAssignedDate: Date | null;
  /** In lower case with dashes; null without a profile (`profile_status` empty or removed). */
  profileUuid: string | null;
  /** empty, assigned, pushed or removed. */
  profileStatus: string | null;
  profileAssignTime: Date | null;
  profilePushTime: Date | null;
  /** added, modified or deleted; null on the pages of a full fetch, and for an unknown value. */
  opType: string | null;
  opDate: Date | null;
}

/** The stored state of a serial number on a page. */
export interface KnownSerial {
  serial_number: string;
  /** Its row of `devices`; null if there is none yet. */
  device_id: number | null;
  /** Whether the account lists it, by the pages stored so far. */
  is_active: boolean;
  /** Date of the last stored operation. */
  op_date: Date | null;
}

const FIND = `
select p.serial_number, c.id as device_id, x.op_date,
  x.id is not null and x.removed_at is null as is_active
from unnest(?::text[]) as p (serial_number)
${rowOf('?')}
left join lateral (
  select d.id from devices d
  where d.serial_number = p.serial_number and (d.udid is null and d.enrollment_id is null
    or ${isDistinctiveSerial({ serial: 'd.serial_number', product: 'd.product_name', model: 'd.model' })})
  order by d.is_enrolled desc, d.udid is null, d.id
  limit 1
) c on true`;

/** By serial number; of several devices the enrolled one, then a formerly enrolled one, then the oldest. */
export async function findSerials(
  trx: Transaction,
  accountId: number,
  serials: string[],
): Promise<Map<string, KnownSerial>> {
  const { rows } = await trx.raw<{ rows: KnownSerial[] }>(FIND, [serials, accountId]);
  return new Map(rows.map((row) => [row.serial_number, row]));
}

/** Columns about the device itself, which Apple may leave out, and about its profile. */
const OWN = ['description', 'color', 'asset_tag', 'os', 'device_family'];

const ASSIGNED = ['device_assigned_by', 'device_assigned_date'];

const PROFILE = ['profile_uuid', 'profile_status', 'profile_assign_time', 'profile_push_time'];

const PAGE = `json_to_recordset(cast(:page as json)) as p (
  serial_number text, device_id bigint, model text, description text, color text, asset_tag text,
  os text, device_family text, device_assigned_by text, device_assigned_date timestamptz,
  profile_uuid text, profile_status text, profile_assign_time timestamptz,
  profile_push_time timestamptz, op_type text, op_date timestamptz)`;

const MIRRORED = ['model', ...OWN, ...ASSIGNED, ...PROFILE];

// Two accounts may list the same serial number at the same time.
const SERIAL_LOCK = [0x6d757374, 0x64657073];

const INSERT_RECORDS = `
insert into devices (serial_number, is_dep, enrollment_state, ${MIRRORED.join(', ')})
select p.serial_number, true, 'dep', ${MIRRORED.map((name) => `p.${name}`).join(', ')}
from ${PAGE}
returning id, serial_number`;

/** SQL: the row was assigned after the page was requested, so it is newer than the page. */
const IS_OLDER = 'coalesce(x.assignment_at >= cast(:askedAt as timestamptz), false)';

const MIRROR: [column: string, value: string][] = [
  ['is_dep', 'true'],
  ['enrollment_state', "coalesce(d.enrollment_state, 'dep')"],
  ['model', 'coalesce(d.model, p.model)'],
  ...[...OWN, ...ASSIGNED].map((name): [string, string] => [
    name,
    `coalesce(p.${name}, d.${name})`,
  ]),
  ...PROFILE.map((name): [string, string] => [
    name,
    `case when ${IS_OLDER} then d.${name} else p.${name} end`,
  ]),
];

// Locks devices in the order of ids and before rows of dep_devices, like enrollments; also devices
// that are only linked, so that a concurrent enrollment is not missed.
const UPDATE_RECORDS = `
with listed as (
  select d.id, ${MIRROR.map(([name, value]) => `${value} as ${name}`).join(', ')}
  from ${PAGE}
  join devices d on d.id = p.device_id
  ${rowOf(':accountId')}
  where (x.device_id is distinct from d.id or x.removed_at is not null
      or (${MIRROR.map(([name]) => `d.${name}`).join(', ')})
        is distinct from (${MIRROR.map(([, value]) => value).join(', ')}))
    and not exists (select from dep_devices o
      where o.device_id = d.id and o.dep_account_id <> :accountId and o.removed_at is null
        and o.device_assigned_date > p.device_assigned_date)
  order by d.id
  for no key update of d
)
update devices d set ${MIRROR.map(([name]) => `${name} = listed.${name}`).join(', ')}
from listed where d.id = listed.id`;

const UPSERT = `
insert into dep_devices as x (dep_account_id, serial_number, device_id, ${MIRRORED.join(', ')},
  op_type, op_date, listed_at, told_at, fetch_number, is_enrolled, enrolled_at)
select :accountId, p.serial_number, d.id, ${MIRRORED.map((name) => `p.${name}`).join(', ')},
  p.op_type, p.op_date, now(), now(), :fetchNumber, coalesce(d.is_enrolled, false),
  case when d.is_enrolled then d.enrolled_at end
from ${PAGE}
left join devices d on d.id = p.device_id
order by p.serial_number
on conflict (dep_account_id, serial_number) do update set
  device_id = coalesce(excluded.device_id, x.device_id),
  ${['model', ...OWN.filter((name) => name !== 'asset_tag'), ...ASSIGNED]
    .map((name) => `${name} = coalesce(excluded.${name}, x.${name}),`)
    .join('\n  ')}
  asset_tag = excluded.asset_tag,
  ${PROFILE.map(
    (name) => `${name} = case when ${IS_OLDER} then x.${name} else excluded.${name} end,`,
  ).join('\n  ')}
  op_type = case when x.removed_at is null then coalesce(excluded.op_type, x.op_type)
    else excluded.op_type end,
  op_date = case when x.removed_at is null then coalesce(excluded.op_date, x.op_date)
    else excluded.op_date end,
  listed_at = coalesce(x.listed_at, excluded.listed_at),
  told_at = excluded.told_at,
  fetch_number = excluded.fetch_number,
  removed_at = null,
  assignment_result = case when x.removed_at is null then x.assignment_result end,
  assignment_attempts = case when x.removed_at is null then x.assignment_attempts else 0 end,
  (is_enrolled, enrolled_at) = (
    select case when is_new then excluded.is_enrolled else x.is_enrolled end,
      case when is_new then coalesce(excluded.enrolled_at, x.enrolled_at) else x.enrolled_at end
    from (values (x.removed_at is not null or x.device_id is distinct from excluded.device_id))
      as link (is_new))`;

/**
 * Stores the listings, at most one for each serial number, in `dep_devices` and `devices`. `known`:
 * the result of findSerials.
 */
export async function storeListings(
  trx: Transaction,
  { accountId, fetchNumber, askedAt }: SyncPosition,
  { listings, known }: { listings: DepListing[]; known: ReadonlyMap<string, KnownSerial> },
): Promise<void> {
  if (listings.length === 0) return;
  const ids = new Map<string, number>();
  for (const { serialNumber } of listings) {
    const id = known.get(serialNumber)?.device_id;
    if (typeof id === 'number') ids.set(serialNumber, id);
  }
  const existing = listings.filter(({ serialNumber }) => ids.has(serialNumber));
  const fresh = listings.filter(({ serialNumber }) => !ids.has(serialNumber));
  if (existing.length > 0) {
    await trx.raw(UPDATE_RECORDS, { page: pageOf(existing, ids), accountId, askedAt });
  }
  for (const [serial, id] of await insertRecords(trx, fresh)) ids.set(serial, id);
  await trx.raw(UPSERT, { page: pageOf(listings, ids), accountId, fetchNumber, askedAt });
}

/** Until the transaction ends, no other account's sync creates devices. */
export async function lockSerials(trx: Transaction): Promise<void> {
  await trx.raw('select pg_advisory_xact_lock(?, ?)', SERIAL_LOCK);
}

function pageOf(listings: readonly DepListing[], deviceIds: ReadonlyMap<string, number>) {
  const rows = listings.map((listing) => ({
    serial_number: listing.serialNumber,
    device_id: deviceIds.get(listing.serialNumber),
    model: listing.model,
    description: listing.description,
    color: listing.color,
    asset_tag: listing.assetTag,
    os: listing.os,
    device_family: listing.deviceFamily,
    device_assigned_by: listing.deviceAssignedBy,
    device_assigned_date: listing.deviceAssignedDate,
    profile_uuid: listing.profileUuid,
    profile_status: listing.profileStatus,
    profile_assign_time: listing.profileAssignTime,
    profile_push_time: listing.profilePushTime,
    op_type: listing.opType,
    op_date: listing.opDate,
  }));
  return JSON.stringify(rows);
}

/** Creates devices for serial numbers without one. Returns [serial number, id] pairs. */
async function insertRecords(
  trx: Transaction,
  listings: readonly DepListing[],
): Promise<[string, number][]> {
  if (listings.length === 0) return [];
  const page = pageOf(listings, new Map());
  type Rows = { rows: { id: number; serial_number: string }[] };
  const { rows } = await trx.raw<Rows>(INSERT_RECORDS, { page });
  return rows.map(({ id, serial_number }) => [serial_number, id]);
}
