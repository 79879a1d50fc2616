import type { Knex } from 'knex';
import type { InventoryRow } from './inventory-repository.js';

/** Columns that OSUpdateStatus reports. */
const STATUS_COLUMNS = [
  'is_downloaded',
  'download_percent_complete',
  'status',
  'max_deferrals',
  'deferrals_remaining',
  'next_scheduled_install',
  'past_notifications',
] as const;

/** Columns that ScheduleOSUpdate reports. */
const SCHEDULE_COLUMNS = ['install_action', 'status', 'error_chain'] as const;

/** The list of updates says nothing of how far an update is. */
export const STATE_COLUMNS = [...new Set<string>([...STATUS_COLUMNS, ...SCHEDULE_COLUMNS])];

/** The updates that one device lists. */
export interface UpdateList {
  deviceId: number;
  rows: InventoryRow[];
}

/** One statement for all devices: its JSON parameter has their rows. */
function stateSql(columns: readonly string[]): string {
  const of = (table: string) => columns.map((name) => `${table}.${name}`).join(', ');
  return `
with reported as (
  select * from jsonb_populate_recordset(null::available_os_updates, ?::jsonb)
), known as (
  update available_os_updates u set ${columns.map((name) => `${name} = r.${name}`).join(', ')}
  from reported r
  where u.device_id = r.device_id and u.product_key = r.product_key
    and (${of('u')}) is distinct from (${of('r')})
)
insert into available_os_updates (device_id, product_key, ${columns.join(', ')})
select r.device_id, r.product_key, ${of('r')}
from reported r
where not exists (
  select from available_os_updates u
  where u.device_id = r.device_id and u.product_key = r.product_key)`;
}

const STORE_STATUS = stateSql(STATUS_COLUMNS);
const STORE_SCHEDULE = stateSql(SCHEDULE_COLUMNS);

const CLEAR_STATUS = `
update available_os_updates u set ${STATUS_COLUMNS.map((name) => `${name} = null`).join(', ')}
from jsonb_to_recordset(?::jsonb) as r (device_id bigint, kept text[])
where u.device_id = r.device_id and u.product_key <> all(r.kept)
  and num_nonnulls(${STATUS_COLUMNS.map((name) => `u.${name}`).join(', ')}) > 0`;

/** Stores how far the updates of different devices are. One that a device does not mention has no status. */
export async function storeUpdateStatus(
  trx: Knex.Transaction,
  lists: readonly UpdateList[],
): Promise<void> {
  if (lists.length === 0) return;
  const kept = lists.map(({ deviceId, rows }) => {
    return { device_id: deviceId, kept: keyed(rows).map(({ product_key }) => product_key) };
  });
  await trx.raw(CLEAR_STATUS, [JSON.stringify(kept)]);
  await storeStates(trx, STORE_STATUS, lists);
}

/** Stores what different devices do with the updates that a command schedules. */
export async function storeUpdateSchedule(
  trx: Knex.Transaction,
  lists: readonly UpdateList[],
): Promise<void> {
  await storeStates(trx, STORE_SCHEDULE, lists);
}

async function storeStates(
  trx: Knex.Transaction,
  sql: string,
  lists: readonly UpdateList[],
): Promise<void> {
  const rows = lists.flatMap(({ deviceId, rows: own }) =>
    keyed(own).map((row) => ({ ...row, device_id: deviceId })),
  );
  if (rows.length > 0) await trx.raw(sql, [JSON.stringify(rows)]);
}

/** Rows without a product key are left out; of those with the same one the last remains. */
function keyed(rows: readonly InventoryRow[]): InventoryRow[] {
  const named = rows.filter(({ product_key }) => typeof product_key === 'string');
  return [...new Map(named.map((row) => [row.product_key, row])).values()];
}
