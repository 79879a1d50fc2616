import type { Knex } from 'knex';

const USERS = `
-- The file has PayloadScope User: Macs and Shared iPads get it once for each of their users, on the channel
-- of the user. Versions that were uploaded before stay on the channel of the device.
alter table profile_versions add column is_for_user boolean not null default false;
create index profile_versions_for_user on profile_versions (profile_id) where is_for_user;

alter table device_items add column device_user_id bigint references device_users on delete cascade;
alter table device_items drop constraint device_items_device_id_item_key_key;
create unique index device_items_device
  on device_items (device_id, item_key, coalesce(device_user_id, 0));
create index device_items_user on device_items (device_user_id) where device_user_id is not null;

-- What users list of themselves; installed_profiles has what devices list.
alter table device_users add column profiles_listed_at timestamptz;
create table user_profiles (
  id bigint generated always as identity primary key,
  device_user_id bigint not null references device_users on delete cascade,
  payload_identifier text not null,
  payload_uuid text,
  is_managed boolean
);
create index user_profiles_user on user_profiles (device_user_id, lower(payload_identifier));
`;

function view(user: string): string {
  const columns = `i.id, i.device_id, p.id as profile_id, i.identifier, i.version, i.assignment_id`;
  const rest = `i.reason_code, i.reason, i.payload_uuid, i.priority, i.command_id, i.attempts,
    i.next_attempt_at, i.repairs, i.changed_at${user}`;
  return `
drop view device_item_states;
create view device_item_states as
  select ${columns}, i.state, ${rest}
  from device_items i left join profiles p on p.id = i.profile_id
  where i.state <> 'pending'
  union all
  select ${columns},
    case when c.is_pending and c.sent_at is not null then 'sent' else 'pending' end, ${rest}
  from device_items i left join profiles p on p.id = i.profile_id
  left join commands c on c.id = i.command_id
  where i.state = 'pending';`;
}

const MARKS = `
create function mark_device_of_channel() returns trigger language plpgsql as $$
begin
  if exists (select from profile_versions where is_for_user) then
    insert into reconcile_marks (device_id) values (coalesce(new.device_id, old.device_id));
  end if;
  return null;
end $$;
create trigger device_users_added after insert or delete on device_users
  for each row execute function mark_device_of_channel();
create trigger device_users_enrolled after update on device_users for each row
  when (new.is_enrolled <> old.is_enrolled) execute function mark_device_of_channel();

create or replace function mark_device_of_command() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into reconcile_marks (device_id) values (old.device_id);
  elsif new.request_type = 'ProfileList' and new.device_user_id is null then
    insert into reconcile_marks (device_id, profiles_listed_at)
      values (new.device_id, new.acknowledged_at);
  else
    insert into reconcile_marks (device_id) values (new.device_id);
  end if;
  return null;
end $$;
`;

function commandTrigger(channel: string): string {
  return `
drop trigger commands_of_items on commands;
create trigger commands_of_items after update on commands for each row
  when (new.device_item_id is not null and old.is_pending and not new.is_pending
    or new.request_type = 'ProfileList' and old.needs_handling and not new.needs_handling${channel})
  execute function mark_device_of_command();`;
}

const DOWN = `
drop trigger device_users_added on device_users;
drop trigger device_users_enrolled on device_users;
drop function mark_device_of_channel;
drop table user_profiles;
alter table device_users drop column profiles_listed_at;
delete from device_items where device_user_id is not null;
alter table device_items drop column device_user_id;
alter table device_items add constraint device_items_device_id_item_key_key
  unique (device_id, item_key);
drop index profile_versions_for_user;
alter table profile_versions drop column is_for_user;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(USERS);
  await knex.raw(view(', i.device_user_id'));
  await knex.raw(MARKS);
  await knex.raw(commandTrigger(''));
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(commandTrigger('\n      and new.device_user_id is null'));
  await knex.raw(view(''));
  await knex.raw(DOWN);
}
