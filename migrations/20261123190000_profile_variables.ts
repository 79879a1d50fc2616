import type { Knex } from 'knex';

const VARIABLES = `
-- Variables in the strings of a version: SERIAL, SECRET_name. Versions that were uploaded before stay
-- literal. A version without variables may still be rendered: $$ is a dollar.
alter table profile_versions
  add column variables text[] not null default '{}',
  add column is_rendered boolean not null default false;
create index profile_versions_variables on profile_versions using gin (variables)
  where is_rendered;

create table profile_secrets (
  id bigint generated always as identity primary key,
  name text not null unique check (name ~ '^[A-Za-z0-9_]+$'),
  sealed_value bytea not null,
  -- Counts the values. A rotation of the master key seals anew and counts nothing.
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- Name to value: text, or [id, version] of a secret, whose text is read at delivery only.
alter table device_items add column payload_values jsonb;
-- {"uuid", "values"} of a profile that is rendered at delivery: its PayloadUUID follows from both.
alter table commands add column payload_values jsonb;
`;

const MARKS = `
create function mark_device_of_variables() returns trigger language plpgsql as $$
declare
  changed text[] := array_remove(array[
    case when new.serial_number is distinct from old.serial_number then 'SERIAL' end,
    case when new.udid is distinct from old.udid then 'UDID' end,
    case when new.device_name is distinct from old.device_name then 'DEVICE_NAME' end,
    case when new.asset_tag is distinct from old.asset_tag then 'ASSET_TAG' end,
    case when new.managed_apple_account is distinct from old.managed_apple_account
      then 'USER_EMAIL' end,
    case when new.managed_apple_account is distinct from old.managed_apple_account
      then 'USER_NAME' end], null);
begin
  if exists (select from profile_versions where is_rendered and variables && changed) then
    insert into reconcile_marks (device_id) values (new.id);
  end if;
  return null;
end $$;

create trigger devices_variables after update on devices for each row
  when (new.is_enrolled and (
    new.serial_number is distinct from old.serial_number
    or new.udid is distinct from old.udid
    or new.device_name is distinct from old.device_name
    or new.asset_tag is distinct from old.asset_tag
    or new.managed_apple_account is distinct from old.managed_apple_account))
  execute function mark_device_of_variables();

create function mark_devices_of_user() returns trigger language plpgsql as $$
declare
  accounts text[] := '{}';
begin
  if tg_op <> 'INSERT' then accounts := accounts || lower(old.account); end if;
  if tg_op <> 'DELETE' then accounts := accounts || lower(new.account); end if;
  if exists (select from profile_versions where is_rendered and variables @> '{USER_NAME}') then
    insert into reconcile_marks (device_id)
    select id from devices where lower(managed_apple_account) = any(accounts) and is_enrolled;
  end if;
  return null;
end $$;

create trigger enrollment_users_variables_added after insert or delete on enrollment_users
  for each row execute function mark_devices_of_user();
create trigger enrollment_users_variables_changed after update on enrollment_users for each row
  when (new.full_name is distinct from old.full_name or lower(new.account) <> lower(old.account))
  execute function mark_devices_of_user();

create function mark_profiles_of_secret() returns trigger language plpgsql as $$
declare
  changed text := case when tg_op = 'DELETE' then old.name else new.name end;
begin
  insert into reconcile_item_marks (profile_id)
  select distinct profile_id from profile_versions
  where is_rendered and variables @> array['SECRET_' || changed];
  return null;
end $$;

create trigger profile_secrets_added after insert or delete on profile_secrets
  for each row execute function mark_profiles_of_secret();
create trigger profile_secrets_changed after update on profile_secrets for each row
  when (new.version <> old.version) execute function mark_profiles_of_secret();
`;

const DOWN = `
drop trigger devices_variables on devices;
drop trigger enrollment_users_variables_added on enrollment_users;
drop trigger enrollment_users_variables_changed on enrollment_users;
drop table profile_secrets;
drop function mark_device_of_variables, mark_devices_of_user, mark_profiles_of_secret;
alter table commands drop column payload_values;
alter table device_items drop column payload_values;
drop index profile_versions_variables;
alter table profile_versions drop column variables, drop column is_rendered;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(VARIABLES);
  await knex.raw(MARKS);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
