import type { Knex } from 'knex';

const TABLES = `
-- The worst finding of the device; null: it is not enrolled, and nothing is wrong.
alter table devices add column health text check (health in ('ok', 'attention', 'stuck'));

-- What the rules of the diagnosis found; written by the health worker alone.
create table device_findings (
  device_id bigint not null references devices (id) on delete cascade,
  code text not null,
  severity text not null check (severity in ('stuck', 'attention', 'info')),
  since timestamptz not null,
  primary key (device_id, code)
);
create index device_findings_code on device_findings (code, severity);

-- The same health, in a table that contacts don't write; and when time alone may next change it.
create table device_health (
  device_id bigint primary key references devices (id) on delete cascade,
  health text,
  due_at timestamptz
);
create index device_health_due on device_health (due_at) where due_at is not null;
create index device_health_health on device_health (health);

-- Enrollments under way; those that never finished are found by their time.
create index devices_enrolling on devices (authenticated_at)
  where enrollment_state = 'authenticated' and health is distinct from 'stuck';

-- Written in the transaction that changes a fact, never updated. Without foreign keys: a mark of a
-- device that is gone is removed with the others.
create table health_marks (
  id bigint primary key generated always as identity,
  device_id bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);

-- One row: by which rules and limits all devices were evaluated.
create table health_state (
  id boolean primary key default true check (id),
  rules text
);
insert into health_state default values;
`;

const FUNCTIONS = `
create function mark_health() returns trigger language plpgsql as $$
begin
  insert into health_marks (device_id) values (new.id);
  return null;
end $$;
-- Ten seconds later: thousands that enroll at once have no work for their health meanwhile.
create function begin_health() returns trigger language plpgsql as $$
begin
  insert into device_health (device_id, health, due_at)
  values (new.id, new.health, now() + interval '10 seconds')
  on conflict (device_id) do update set health = excluded.health, due_at = excluded.due_at;
  return null;
end $$;
create function mark_health_of_device() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into health_marks (device_id) select old.device_id where old.device_id is not null;
  else
    insert into health_marks (device_id)
    select coalesce(new.device_id, old.device_id)
    where coalesce(new.device_id, old.device_id) is not null;
  end if;
  return null;
end $$;
create function mark_health_of_new_row() returns trigger language plpgsql as $$
begin
  insert into health_marks (device_id) values (new.device_id);
  return null;
end $$;
create function mark_health_of_dep_profile() returns trigger language plpgsql as $$
begin
  insert into health_marks (device_id) select id from devices where dep_profile_id = new.id;
  return null;
end $$;
`;

const FACTS = [
  ...['is_enrolled', 'enrollment_state', 'enrollment_number', 'push_state', 'topic'],
  ...['awaiting_configuration', 'enrollment_replaced_at', 'proven_serial', 'dep_profile_id'],
];
/** A first enrollment without a fault. */
const IS_BEGUN = `(not old.is_enrolled and new.is_enrolled and new.enrollment_number = 1
      and new.push_state = 'ok' and new.sealed_push is not null and new.health = 'ok')`;
const rowOf = (row: string) => `(${FACTS.map((name) => `${row}.${name}`).join(', ')})`;

const TRIGGERS = `
create trigger health_facts
  after update of ${FACTS.join(', ')}, sealed_push, failed_push_count on devices
  for each row when (${IS_BEGUN} is not true
    and (${rowOf('old')} is distinct from ${rowOf('new')}
      or (old.sealed_push is null) <> (new.sealed_push is null)
      or (old.failed_push_count >= 3) <> (new.failed_push_count >= 3)))
  execute function mark_health();
create trigger health_begun after update of is_enrolled on devices
  for each row when (${IS_BEGUN})
  execute function begin_health();
create trigger health_new_devices after insert on devices for each row
  when (new.is_enrolled or new.dep_profile_id is not null or new.enrollment_state = 'unenrolled')
  execute function mark_health();
-- Only devices with findings: a contact may end them.
create trigger health_contacts after update of last_seen on devices for each row
  when (old.health in ('attention', 'stuck') and new.last_seen is distinct from old.last_seen)
  execute function mark_health();

-- 3: as often as a command may fail, or be fetched without an answer.
create trigger health_commands after update on commands for each row
  when (old.failed_at is null and new.failed_at is not null
    or old.not_now_since is null and new.not_now_since is not null
    or old.attempts < 3 and new.attempts >= 3
    or old.is_pending and not new.is_pending
      and (old.not_now_since is not null or old.attempts >= 3))
  execute function mark_health_of_device();
create trigger health_commands_deleted after delete on commands for each row
  when (old.failed_at is not null
    or old.is_pending and (old.not_now_since is not null or old.attempts >= 3))
  execute function mark_health_of_device();

create trigger health_items after update on device_items for each row
  when ((old.state = 'failed') <> (new.state = 'failed'))
  execute function mark_health_of_device();
create trigger health_new_items after insert on device_items for each row
  when (new.state = 'failed') execute function mark_health_of_new_row();
create trigger health_items_deleted after delete on device_items for each row
  when (old.state = 'failed') execute function mark_health_of_device();

create trigger health_identities after update on device_identities for each row
  when ((old.device_id, old.state, old.not_after) is distinct from
    (new.device_id, new.state, new.not_after))
  execute function mark_health_of_device();
create trigger health_setups after update of state on device_setups for each row
  when (old.state <> new.state and 'failed' in (old.state, new.state))
  execute function mark_health_of_device();

create trigger health_requests after update on enrollment_requests for each row
  when (new.device_id is not null and new.held_at is not null)
  execute function mark_health_of_device();
create trigger health_new_requests after insert on enrollment_requests for each row
  when (new.device_id is not null and new.held_at is not null)
  execute function mark_health_of_new_row();

create trigger health_dep_devices after update on dep_devices for each row
  when ((old.device_id, old.profile_uuid) is distinct from (new.device_id, new.profile_uuid)
    or (old.removed_at is null) <> (new.removed_at is null)
    or (old.last_error is null) <> (new.last_error is null)
    or (old.assignment_due_at is null) <> (new.assignment_due_at is null))
  execute function mark_health_of_device();
create trigger health_new_dep_devices after insert on dep_devices for each row
  when (new.device_id is not null) execute function mark_health_of_new_row();
create trigger health_dep_profiles after update on dep_profiles for each row
  when ((old.uuid, old.status) is distinct from (new.uuid, new.status))
  execute function mark_health_of_dep_profile();
`;

const OF_TABLES = {
  devices: ['health_facts', 'health_begun', 'health_new_devices', 'health_contacts'],
  commands: ['health_commands', 'health_commands_deleted'],
  device_items: ['health_items', 'health_new_items', 'health_items_deleted'],
  device_identities: ['health_identities'],
  device_setups: ['health_setups'],
  enrollment_requests: ['health_requests', 'health_new_requests'],
  dep_devices: ['health_dep_devices', 'health_new_dep_devices'],
  dep_profiles: ['health_dep_profiles'],
};

const DOWN = `
${Object.entries(OF_TABLES)
  .flatMap(([table, names]) => names.map((name) => `drop trigger ${name} on ${table};`))
  .join('\n')}
drop function mark_health, begin_health, mark_health_of_device, mark_health_of_new_row,
  mark_health_of_dep_profile;
drop index devices_enrolling;
drop table device_findings, device_health, health_marks, health_state;
alter table devices drop column health;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLES);
  await knex.raw(FUNCTIONS);
  await knex.raw(TRIGGERS);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
