import type { Knex } from 'knex';

const ASSIGNMENTS = `
-- Who should have an item: everyone, or a tag, a group or one device. Wanted is what some include
-- matches and no exclude.
create table assignments (
  id bigint generated always as identity primary key,
  profile_id bigint not null references profiles on delete cascade,
  tag_id bigint references tags on delete cascade,
  device_group_id bigint references device_groups on delete cascade,
  device_id bigint references devices on delete cascade,
  all_devices boolean not null default false,
  mode text not null default 'include' check (mode in ('include', 'exclude')),
  priority integer not null default 0,
  created_at timestamptz not null default now(),
  constraint assignments_one_target check (
    num_nonnulls(tag_id, device_group_id, device_id) + all_devices::integer = 1)
);
create unique index assignments_tag on assignments (tag_id, profile_id, mode)
  where tag_id is not null;
create unique index assignments_device_group on assignments (device_group_id, profile_id, mode)
  where device_group_id is not null;
create unique index assignments_device on assignments (device_id, profile_id, mode)
  where device_id is not null;
create unique index assignments_all on assignments (profile_id, mode) where all_devices;
create index assignments_profile on assignments (profile_id, id);

insert into assignments (profile_id, tag_id) select profile_id, tag_id from profile_tags;
insert into assignments (profile_id, device_group_id)
  select profile_id, device_group_id from profile_device_groups;

-- The relationships of profiles are their includes. Both views can be written, and a process of a
-- former version goes on with them.
drop table profile_tags;
drop table profile_device_groups;
create view profile_tags as
  select profile_id, tag_id from assignments where tag_id is not null and mode = 'include';
create view profile_device_groups as
  select profile_id, device_group_id from assignments
  where device_group_id is not null and mode = 'include';
`;

const ITEMS = `
-- What is made of the assignments: one row for each device and item, kept until the item is gone from
-- the device, even when the item itself is deleted. profile_id has no foreign key for that reason.
create table device_items (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices on delete cascade,
  -- 'profile:' and the PayloadIdentifier in lower case: a file that is deleted and uploaded again is
  -- the same item to the device.
  item_key text not null,
  identifier text not null,
  profile_id bigint not null,
  profile_version_id bigint,
  version integer,
  assignment_id bigint references assignments on delete set null,
  -- The PayloadUUID that ProfileList has when the wanted version is installed.
  payload_uuid text,
  priority integer not null default 0,
  enrollment_number integer not null,
  state text not null check (state in ('pending', 'installed', 'verified', 'failed', 'removing',
    'not_applicable', 'conflict', 'waiting_for_user', 'paused')),
  reason_code text,
  reason text,
  -- What is under way or due, and its command.
  action text check (action in ('install', 'remove')),
  command_id bigint references commands on delete set null,
  attempts integer not null default 0,
  next_attempt_at timestamptz,
  -- Of the last install that the device acknowledged in this enrollment.
  installed_uuid text,
  acted_at timestamptz,
  repairs integer not null default 0,
  changed_at timestamptz not null default now(),
  unique (device_id, item_key)
);
create index device_items_profile on device_items (profile_id, device_id);
create index device_items_state on device_items (state, id);
create index device_items_due on device_items (next_attempt_at) where next_attempt_at is not null;
create index device_items_assignment on device_items (assignment_id)
  where assignment_id is not null;
create index device_items_command on device_items (command_id) where command_id is not null;

-- As admins see them. A command that is under way makes pending sent: the device path writes no items.
-- In two parts, so that every other state is found by its index.
create view device_item_states as
  select i.id, i.device_id, p.id as profile_id, i.identifier, i.version, i.assignment_id, i.state,
    i.reason_code, i.reason, i.payload_uuid, i.priority, i.command_id, i.attempts,
    i.next_attempt_at, i.repairs, i.changed_at
  from device_items i left join profiles p on p.id = i.profile_id
  where i.state <> 'pending'
  union all
  select i.id, i.device_id, p.id, i.identifier, i.version, i.assignment_id,
    case when c.is_pending and c.sent_at is not null then 'sent' else 'pending' end,
    i.reason_code, i.reason, i.payload_uuid, i.priority, i.command_id, i.attempts,
    i.next_attempt_at, i.repairs, i.changed_at
  from device_items i left join profiles p on p.id = i.profile_id
  left join commands c on c.id = i.command_id
  where i.state = 'pending';

-- A command that was queued for an item. No foreign key: the item may be gone before its command.
alter table commands add column device_item_id bigint;

-- A row that the reconciler locks in place of the device's own.
create table device_reconciliations (
  device_id bigint primary key references devices on delete cascade,
  profiles_listed_at timestamptz,
  paused_at timestamptz
);

alter table profiles
  -- The version that devices get; null: the current one.
  add column active_version integer,
  add column paused_at timestamptz,
  add column pause_reason text;

create table reconciler_state (
  id integer primary key default 1 check (id = 1),
  paused_at timestamptz,
  pause_reason text
);
insert into reconciler_state (paused_at, pause_reason)
select case when found then now() end,
  case when found then 'assignments of a former version: check the preview, then resume' end
from (select exists (select from assignments) as found) earlier;

-- Bodies may be sealed now: the key for a rotation of the master key.
alter table command_payloads add column id bigint generated always as identity unique;

-- A process of a former version can't send a payload that is shared and sealed.
alter table server_processes add column reads_sealed_payloads boolean not null default false;
`;

const MARKS = `
-- What the reconciler has to look at, written in the transaction of the cause. Rows are only added and
-- deleted: two transactions never wait for each other here.
create table reconcile_marks (
  id bigint generated always as identity primary key,
  device_id bigint not null,
  -- Of a ProfileList that was handled.
  profiles_listed_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);

-- An item whose devices are all to be looked at; device_cursor is the last one that was. A newer row of
-- the same item replaces it.
create table reconcile_item_marks (
  id bigint generated always as identity primary key,
  profile_id bigint not null,
  device_cursor bigint not null default 0
);
create index reconcile_item_marks_profile on reconcile_item_marks (profile_id, id);

create function mark_changed_devices() returns trigger language plpgsql as $$
begin
  insert into reconcile_marks (device_id) select distinct device_id from changed;
  return null;
end $$;

create function mark_device() returns trigger language plpgsql as $$
begin
  insert into reconcile_marks (device_id) values (new.id);
  return null;
end $$;

create function mark_device_of_command() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into reconcile_marks (device_id) values (old.device_id);
  elsif new.request_type = 'ProfileList' then
    insert into reconcile_marks (device_id, profiles_listed_at)
      values (new.device_id, new.acknowledged_at);
  else
    insert into reconcile_marks (device_id) values (new.device_id);
  end if;
  return null;
end $$;

create function mark_assigned(profile bigint, device bigint) returns void language plpgsql as $$
begin
  if device is null then
    insert into reconcile_item_marks (profile_id) values (profile);
  else
    insert into reconcile_marks (device_id) values (device);
  end if;
end $$;

create function mark_assignment() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then perform mark_assigned(old.profile_id, old.device_id); end if;
  if tg_op <> 'DELETE' then perform mark_assigned(new.profile_id, new.device_id); end if;
  return null;
end $$;

create function mark_profile() returns trigger language plpgsql as $$
begin
  insert into reconcile_item_marks (profile_id) values (old.id);
  return null;
end $$;

create function mark_everything() returns trigger language plpgsql as $$
begin
  insert into reconcile_item_marks (profile_id)
  select profile_id from assignments union select profile_id from device_items;
  return null;
end $$;

create trigger device_tags_added after insert on device_tags
  referencing new table as changed for each statement execute function mark_changed_devices();
create trigger device_tags_removed after delete on device_tags
  referencing old table as changed for each statement execute function mark_changed_devices();
create trigger device_group_devices_added after insert on device_group_devices
  referencing new table as changed for each statement execute function mark_changed_devices();
create trigger device_group_devices_removed after delete on device_group_devices
  referencing old table as changed for each statement execute function mark_changed_devices();
create trigger devices_reconcile after update on devices for each row
  when (new.is_enrolled is distinct from old.is_enrolled
    or new.is_enrolled and (
      new.enrollment_number <> old.enrollment_number
      or new.awaiting_configuration is distinct from old.awaiting_configuration
      or new.platform is distinct from old.platform
      or new.os_version is distinct from old.os_version
      or new.is_supervised is distinct from old.is_supervised))
  execute function mark_device();
create trigger commands_of_items after update on commands for each row
  when (new.device_item_id is not null and old.is_pending and not new.is_pending
    or new.request_type = 'ProfileList' and old.needs_handling and not new.needs_handling
      and new.device_user_id is null)
  execute function mark_device_of_command();
create trigger commands_of_items_deleted after delete on commands for each row
  when (old.device_item_id is not null and old.is_pending)
  execute function mark_device_of_command();
create trigger assignments_changed after insert or update or delete on assignments for each row
  execute function mark_assignment();
create trigger profiles_changed after update on profiles for each row
  when (new.current_version <> old.current_version
    or new.active_version is distinct from old.active_version
    or new.paused_at is distinct from old.paused_at)
  execute function mark_profile();
create trigger profiles_deleted after delete on profiles for each row
  execute function mark_profile();
create trigger reconciler_state_changed after update on reconciler_state for each row
  when (new.paused_at is null and old.paused_at is not null)
  execute function mark_everything();

insert into reconcile_item_marks (profile_id) select distinct profile_id from assignments;
`;

const DOWN = `
drop view profile_tags;
drop view profile_device_groups;
create table profile_tags (
  profile_id bigint not null references profiles on delete cascade,
  tag_id bigint not null references tags on delete cascade,
  primary key (profile_id, tag_id)
);
create index profile_tags_tag on profile_tags (tag_id, profile_id);
create table profile_device_groups (
  profile_id bigint not null references profiles on delete cascade,
  device_group_id bigint not null references device_groups on delete cascade,
  primary key (profile_id, device_group_id)
);
create index profile_device_groups_group on profile_device_groups (device_group_id, profile_id);
insert into profile_tags select profile_id, tag_id from assignments
  where tag_id is not null and mode = 'include';
insert into profile_device_groups select profile_id, device_group_id from assignments
  where device_group_id is not null and mode = 'include';
drop trigger device_tags_added on device_tags;
drop trigger device_tags_removed on device_tags;
drop trigger device_group_devices_added on device_group_devices;
drop trigger device_group_devices_removed on device_group_devices;
drop trigger devices_reconcile on devices;
drop trigger commands_of_items on commands;
drop trigger commands_of_items_deleted on commands;
drop trigger profiles_changed on profiles;
drop trigger profiles_deleted on profiles;
drop view device_item_states;
drop table reconciler_state, device_items, assignments, device_reconciliations, reconcile_marks,
  reconcile_item_marks;
drop function mark_changed_devices, mark_device, mark_device_of_command, mark_assignment,
  mark_assigned, mark_profile, mark_everything;
alter table profiles drop column active_version, drop column paused_at, drop column pause_reason;
alter table commands drop column device_item_id;
alter table command_payloads drop column id;
alter table server_processes drop column reads_sealed_payloads;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(ASSIGNMENTS);
  await knex.raw(ITEMS);
  await knex.raw(MARKS);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
