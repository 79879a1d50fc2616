import type { Knex } from 'knex';

/** In steps, each a transaction of its own: devices go on reporting meanwhile. */
export const config = { transaction: false };

/**
 * What changes with each inventory of a device, of those that reported it, for lists by its values. With an
 * index of devices on it each inventory would write to all other indexes of devices: measured, 3.5 ms and
 * 400 KB of log in place of 0.07 ms and 7 KB, with a million devices.
 *
 * As for other tables whose rows are updated all day, so many changed rows in place of a share make each
 * vacuum short.
 */
const TABLE = `
create table if not exists device_levels (
  device_id bigint primary key references devices on delete cascade,
  battery_level double precision,
  available_device_capacity double precision,
  last_cloud_backup_date timestamptz
) with (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.01, autovacuum_analyze_threshold = 20000
);
create index if not exists device_levels_battery on device_levels (battery_level, device_id);
create index if not exists device_levels_capacity on device_levels (available_device_capacity, device_id);
create index if not exists device_levels_backup on device_levels (last_cloud_backup_date, device_id);`;

const COLUMNS = ['battery_level', 'available_device_capacity', 'last_cloud_backup_date'];

/** Of each column, in an expression of it. */
function each(of: (name: string) => string, separator: string): string {
  return COLUMNS.map(of).join(separator);
}

const IS_KNOWN = each((name) => `new.${name} is not null`, ' or ');
const HAS_CHANGED = each((name) => `new.${name} is distinct from old.${name}`, ' or ');

/** Several statements write what devices report, some of them of processes of the former version. */
const TRIGGERS = `
create or replace function keep_device_levels() returns trigger language plpgsql as $$
begin
  -- It finds the row by the index whatever the planner thinks: a plan made for an empty table would read all.
  insert into device_levels (device_id, ${COLUMNS.join(', ')})
  values (new.id, ${each((name) => `new.${name}`, ', ')})
  on conflict (device_id) do update set ${each((name) => `${name} = excluded.${name}`, ', ')};
  return null;
end $$;
create or replace trigger device_levels_new after insert on devices
  for each row when (${IS_KNOWN}) execute function keep_device_levels();
create or replace trigger device_levels_reported after update of ${COLUMNS.join(', ')} on devices
  for each row when (${HAS_CHANGED}) execute function keep_device_levels();`;

const STEP = 5_000;

// The lock keeps a report from coming between the read and the row.
const COPY = `
insert into device_levels (device_id, ${COLUMNS.join(', ')})
select id, ${COLUMNS.join(', ')} from devices
where id > ? and id <= ? and (${each((name) => `${name} is not null`, ' or ')})
order by id for share
on conflict do nothing`;

const REMOVE = `
drop trigger device_levels_reported on devices;
drop trigger device_levels_new on devices;
drop function keep_device_levels();
drop table device_levels;`;

export async function up(knex: Knex): Promise<void> {
  await withoutTimeLimits(knex, async (run) => {
    await run(TABLE + TRIGGERS);
    await inSteps(run, COPY);
    await run('analyze device_levels');
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutTimeLimits(knex, async (run) => {
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
