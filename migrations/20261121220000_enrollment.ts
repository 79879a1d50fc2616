import type { Knex } from 'knex';

const UP = `
-- What an admin hands out so that people can enroll their devices. The token is kept as a digest,
-- by which it is found, and sealed, so that the admin can be shown the link again.
create table enrollment_links (
  id bigint generated always as identity primary key,
  name text not null,
  description text,
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  sealed_token bytea not null,
  -- null: as many devices as want to
  max_uses integer check (max_uses > 0),
  uses integer not null default 0,
  expires_at timestamptz,
  is_disabled boolean not null default false,
  device_group_id bigint references device_groups (id) on delete set null,
  last_used_at timestamptz,
  created_at timestamptz not null default now()
);
create index enrollment_links_device_group on enrollment_links (device_group_id)
  where device_group_id is not null;
create table enrollment_link_tags (
  enrollment_link_id bigint not null references enrollment_links (id) on delete cascade,
  tag_id bigint not null references tags (id) on delete cascade,
  primary key (enrollment_link_id, tag_id)
);
create index enrollment_link_tags_tag on enrollment_link_tags (tag_id);

-- People who may enroll with an account where no identity provider is set up.
create table enrollment_users (
  id bigint generated always as identity primary key,
  account text not null,
  full_name text,
  password_hash text not null,
  enrollment_mode text check (enrollment_mode in ('byod', 'adde')),
  is_disabled boolean not null default false,
  last_login_at timestamptz,
  created_at timestamptz not null default now()
);
create unique index enrollment_users_account on enrollment_users (lower(account));

-- A device, known by Apple's certificate or by its user's account, that was given an enrollment
-- profile: its challenge names this row, and the enrollment must keep to what stands here.
create table enrollment_requests (
  id bigint generated always as identity primary key,
  method text not null
    check (method in ('profile', 'ota', 'automated', 'account_user', 'account_device')),
  udid text,
  serial_number text,
  product_name text,
  os_version text,
  build_version text,
  imei text,
  meid text,
  language text,
  -- Managed Apple Account of the user.
  account text,
  unmet_minimum_os_version text,
  enrollment_link_id bigint references enrollment_links (id) on delete set null,
  -- Of the challenge it began with (over the air), which is good for one device.
  nonce bytea unique,
  -- SHA-256 of the certificate that signed.
  signer bytea check (octet_length(signer) = 32),
  -- Issued in the first phase over the air, for the second.
  certificate_id bigint references certificates (id) on delete set null,
  device_id bigint references devices (id) on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  enrolled_at timestamptz
);
create index enrollment_requests_created on enrollment_requests (created_at);
create index enrollment_requests_account on enrollment_requests (lower(account))
  where account is not null and enrolled_at is null;
create index enrollment_requests_link on enrollment_requests (enrollment_link_id)
  where enrollment_link_id is not null;
create index enrollment_requests_certificate on enrollment_requests (certificate_id)
  where certificate_id is not null;
create index enrollment_requests_device on enrollment_requests (device_id)
  where device_id is not null;

-- Whoever is no longer among the users, or under another name, gets no identity by what was begun.
create function end_account_requests() returns trigger language plpgsql as $$
begin
  update enrollment_requests set expires_at = now()
  where lower(account) = lower(old.account) and enrolled_at is null and expires_at > now();
  return null;
end $$;
create trigger enrollment_users_gone after delete on enrollment_users
  for each row execute function end_account_requests();
create trigger enrollment_users_renamed after update of account on enrollment_users
  for each row when (lower(old.account) <> lower(new.account))
  execute function end_account_requests();

-- What the challenge behind a certificate was made for. The id of a request stays when its row is
-- gone: what was made for one device is good for no other.
alter table scep_challenges
  add column enrollment_request_id bigint,
  -- Its certificate is for the second phase over the air, and enrolls nobody.
  add column is_exchange boolean not null default false,
  -- Certificates issued for it, each in place of the one before.
  add column issued integer not null default 1,
  add column enrollment_link_id bigint references enrollment_links (id) on delete set null;
create index scep_challenges_enrollment_request on scep_challenges (enrollment_request_id)
  where enrollment_request_id is not null;
create index scep_challenges_enrollment_link on scep_challenges (enrollment_link_id)
  where enrollment_link_id is not null;

alter table devices
  add column enrollment_method text
    check (enrollment_method in ('profile', 'ota', 'automated', 'account_user', 'account_device')),
  add column enrollment_link_id bigint references enrollment_links (id) on delete set null,
  add column managed_apple_account text,
  -- The serial number that Apple's certificate has shown to be the device's at this enrollment.
  add column proven_serial text,
  add column unmet_minimum_os_version text;
create index devices_enrollment_link on devices (enrollment_link_id)
  where enrollment_link_id is not null;

-- The enrollments that came before the present one of each device.
create table former_enrollments (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices (id) on delete cascade,
  enrollment_number integer not null,
  enrollment_method text,
  udid text,
  enrollment_id text,
  serial_number text,
  managed_apple_account text,
  authenticated_at timestamptz,
  enrolled_at timestamptz,
  ended_at timestamptz not null default now(),
  end_reason text not null
    check (end_reason in ('re-enrolled', 'checked out', 'moved', 'merged'))
);
create index former_enrollments_device on former_enrollments (device_id, id);

-- Two values of the same secret are told apart without opening them.
alter table device_secrets
  add column digest bytea,
  -- Of the device, when it gave the secret.
  add column proven_serial text;
-- What may be told of secrets: not what they are. The current one is the one that the device, or a
-- command, would get now.
create view device_secret_records as
select s.id, s.device_id, s.kind, s.enrollment_number, octet_length(s.sealed) = 0 as is_removal,
  octet_length(s.sealed) > 0
  and (s.enrollment_number = d.enrollment_number
    or coalesce(lower(s.proven_serial) = lower(d.proven_serial), false))
  and not exists (
    select from device_secrets n
    where n.device_id = s.device_id and n.kind = s.kind and n.id > s.id
      and (n.enrollment_number = d.enrollment_number
        or lower(n.proven_serial) = lower(d.proven_serial))
  ) as is_current,
  s.created_at
from device_secrets s join devices d on d.id = s.device_id;

-- A device that waits in Setup Assistant until it is told to go on.
create table device_setups (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices (id) on delete cascade,
  enrollment_number integer not null,
  state text not null default 'waiting' check (state in ('waiting', 'configured', 'failed')),
  -- DeviceConfigured
  command_id bigint references commands (id) on delete set null,
  reason text,
  attempts integer not null default 0,
  started_at timestamptz not null default now(),
  due_at timestamptz not null,
  ended_at timestamptz,
  unique (device_id, enrollment_number)
);
create index device_setups_due on device_setups (due_at) where state = 'waiting';
create index device_setups_command on device_setups (command_id) where command_id is not null;
-- The profiles that were assigned to a device when its setup began, and what became of each.
create table device_setup_profiles (
  device_setup_id bigint not null references device_setups (id) on delete cascade,
  profile_id bigint not null references profiles (id) on delete cascade,
  -- InstallProfile
  command_id bigint references commands (id) on delete set null,
  -- Why there never was a command.
  fault text check (fault in ('withheld', 'unbuilt')),
  primary key (device_setup_id, profile_id)
);
create index device_setup_profiles_profile on device_setup_profiles (profile_id);
create index device_setup_profiles_command on device_setup_profiles (command_id)
  where command_id is not null;
create index devices_awaiting_configuration on devices (id)
  where awaiting_configuration and is_enrolled;

alter table dep_profiles
  add column minimum_ios_version text,
  add column minimum_macos_version text;
-- Its key signs what GetToken gives out.
alter table dep_accounts
  add column token_certificate_id bigint references certificates (id) on delete set null;
create index dep_accounts_token_certificate on dep_accounts (token_certificate_id)
  where token_certificate_id is not null;
-- As Apple writes it, for it is sent back.
alter table dep_accounts alter column server_uuid type text;

-- Users of devices: commands and pushes of their own.
alter table device_users
  add column awaiting_configuration boolean,
  add column push_state text check (push_state in ('ok', 'unregistered', 'bad_token')),
  add column failed_push_count integer not null default 0,
  add column last_push_at timestamptz,
  add column last_push_result text;
update device_users set push_state = 'ok' where sealed_push is not null;
-- Keys of users are kept as sent and compared without regard to case.
delete from device_users a using device_users b
where a.device_id = b.device_id and lower(a.user_key) = lower(b.user_key) and a.id < b.id;
alter table device_users drop constraint device_users_device_id_user_key_key;
create unique index device_users_user on device_users (device_id, lower(user_key));
alter table commands
  add column device_user_id bigint references device_users (id) on delete cascade;
create index commands_user_pending on commands (device_user_id, priority desc, id)
  where is_pending and device_user_id is not null;
create index commands_user on commands (device_user_id, id) where device_user_id is not null;
create table user_pushes (
  device_user_id bigint primary key references device_users (id) on delete cascade,
  due_at timestamptz not null,
  requested_at timestamptz not null default clock_timestamp(),
  claimed_at timestamptz,
  attempts integer not null default 0
) with (fillfactor = 70);
create index user_pushes_due on user_pushes (due_at);
`;

const DOWN = `
drop table user_pushes;
drop index commands_user;
drop index commands_user_pending;
delete from commands where device_user_id is not null;
alter table commands drop column device_user_id;
drop index device_users_user;
alter table device_users add unique (device_id, user_key);
alter table device_users drop column awaiting_configuration, drop column push_state,
  drop column failed_push_count, drop column last_push_at, drop column last_push_result;
alter table dep_accounts drop column token_certificate_id;
alter table dep_accounts alter column server_uuid type uuid using server_uuid::uuid;
alter table dep_profiles drop column minimum_ios_version, drop column minimum_macos_version;
drop index devices_awaiting_configuration;
drop table device_setup_profiles;
drop table device_setups;
drop view device_secret_records;
alter table device_secrets drop column digest, drop column proven_serial;
drop table former_enrollments;
alter table devices drop column enrollment_method, drop column enrollment_link_id,
  drop column managed_apple_account, drop column proven_serial,
  drop column unmet_minimum_os_version;
alter table scep_challenges drop column enrollment_request_id, drop column enrollment_link_id,
  drop column is_exchange, drop column issued;
drop table enrollment_requests;
drop table enrollment_users;
drop function end_account_requests();
drop table enrollment_link_tags;
drop table enrollment_links;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
