import type { Knex } from 'knex';

/** In steps, each a transaction of its own: devices go on reporting meanwhile. */
export const config = { transaction: false };

/**
 * When each device was last seen, for lists in this order. An index of devices on it would write to all other
 * indexes of devices at each contact; here a contact writes to two.
 *
 * As for other tables whose rows are updated all day, so many changed rows in place of a share make each
 * vacuum short.
 */
const TABLE = `
create table if not exists device_contacts (
  device_id bigint primary key references devices on delete cascade,
  last_seen timestamptz
) with (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.01, autovacuum_analyze_threshold = 20000
);
create index if not exists device_contacts_order on device_contacts (last_seen, device_id);`;

/** Several statements write the time, some of them of processes of the former version. */
const TRIGGERS = `
create or replace function keep_device_contact() returns trigger language plpgsql as $$
begin
  -- It finds the row by the index whatever the planner thinks: a plan made for an empty table would read all.
  insert into device_contacts (device_id, last_seen) values (new.id, new.last_seen)
  on conflict (device_id) do update set last_seen = excluded.last_seen;
  return null;
end $$;
create or replace trigger device_contacts_new after insert on devices
  for each row execute function keep_device_contact();
create or replace trigger device_contacts_seen after update of last_seen on devices
  for each row when (new.last_seen is distinct from old.last_seen)
  execute function keep_device_contact();`;

const STEP = 5_000;

// The lock keeps a contact from coming between the read and the row.
const COPY = `
insert into device_contacts (device_id, last_seen)
select id, last_seen from devices where id > ? and id <= ?
order by id for share
on conflict do nothing`;

const REMOVE = `
drop trigger device_contacts_seen on devices;
drop trigger device_contacts_new on devices;
drop function keep_device_contact();
drop table device_contacts;`;

export async function up(knex: Knex): Promise<void> {
  await withoutTimeLimits(knex, async (run) => {
    await run(TABLE + TRIGGERS);
    await inSteps(run, COPY);
    await run('analyze device_contacts');
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
