import type { Knex } from 'knex';

/** In steps, each a transaction of its own: devices go on reporting, and an index is dropped meanwhile. */
export const config = { transaction: false };

/**
 * When each enrolled device was last asked for its inventory. As an indexed column of devices, this time
 * wrote each device and all its index entries anew once a day.
 *
 * Each row is updated once per interval, which leaves dead entries where the next claim begins to read:
 * as for other queues, so many changed rows in place of a share make each vacuum short. The free space
 * keeps the next version of a row on its page.
 */
const TABLE = `
create table if not exists device_inventories (
  device_id bigint primary key references devices on delete cascade,
  queued_at timestamptz not null
) with (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.01, autovacuum_analyze_threshold = 20000
);
create index if not exists device_inventories_due on device_inventories (queued_at, device_id);`;

/** Several statements enroll devices and end enrollments, some of them of processes of the former version. */
const TRIGGERS = `
create or replace function keep_device_inventory() returns trigger language plpgsql as $$
begin
  if new.is_enrolled then
    -- Its first TokenUpdate queues the first inventory.
    insert into device_inventories (device_id, queued_at)
    values (new.id, coalesce(new.enrolled_at, now()))
    on conflict (device_id) do update set queued_at = excluded.queued_at;
  else
    delete from device_inventories where device_id = new.id;
  end if;
  return null;
end $$;
create or replace trigger device_inventories_new after insert on devices
  for each row when (new.is_enrolled) execute function keep_device_inventory();
create or replace trigger device_inventories_enrollment after update of is_enrolled on devices
  for each row when (old.is_enrolled <> new.is_enrolled) execute function keep_device_inventory();`;

// Read like a column. The name inventory_queued_at is still that of a column: processes of the former
// version write it during an upgrade. A later release drops it.
const FUNCTION = `
create or replace function inventory_requested_at(devices) returns timestamptz
  language sql stable parallel safe as
  'select queued_at from device_inventories where device_id = $1.id';`;

const STEP = 5_000;

// The lock keeps an enrollment from ending between the read and the row.
const COPY = `
insert into device_inventories (device_id, queued_at)
select id, coalesce(inventory_queued_at, enrolled_at, now()) from devices
where id > ? and id <= ? and is_enrolled
order by id for share
on conflict do nothing`;

const COPY_BACK = `
update devices d set inventory_queued_at = i.queued_at
from device_inventories i
where d.id = i.device_id and i.device_id > ? and i.device_id <= ?`;

const NO_INDEX = 'drop index concurrently if exists devices_inventory_due';
const INDEX = `
create index concurrently devices_inventory_due on devices (coalesce(inventory_queued_at, enrolled_at))
  where is_enrolled`;

const REMOVE = `
drop trigger device_inventories_enrollment on devices;
drop trigger device_inventories_new on devices;
drop function keep_device_inventory();
drop function inventory_requested_at(devices);
drop table device_inventories;`;

export async function up(knex: Knex): Promise<void> {
  await withoutTimeLimits(knex, async (run) => {
    await run(TABLE + TRIGGERS + FUNCTION);
    await inSteps(run, COPY);
    await run(NO_INDEX);
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutTimeLimits(knex, async (run) => {
    // Drops first what a build that was interrupted has left behind.
    await run(NO_INDEX);
    await run(INDEX);
    await inSteps(run, COPY_BACK);
    await run(REMOVE);
  });
}

type Run = (sql: string, bindings?: number[]) => PromiseLike<{ rows: { last: string | null }[] }>;

async function inSteps(run: Run, sql: string): Promise<void> {
  const { rows } = await run('select max(id) as last from devices');
  const last = Number(rows[0]?.last ?? 0);
  for (let after = 0; after < last; after += STEP) await run(sql, [after, after + STEP]);
}

/** On one connection, whose time limits are lifted meanwhile. */
async function withoutTimeLimits(knex: Knex, work: (run: Run) => Promise<void>): Promise<void> {
  const limits = ['statement_timeout', 'lock_timeout'];
  const connection: unknown = await knex.client.acquireConnection();
  const run: Run = (sql, bindings = []) => knex.raw(sql, bindings).connection(connection);
  try {
    for (const limit of limits) await run(`set ${limit} = 0`);
    await work(run);
    for (const limit of limits) await run(`reset ${limit}`);
  } finally {
    await knex.client.releaseConnection(connection);
  }
}
