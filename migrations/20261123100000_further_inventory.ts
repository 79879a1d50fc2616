import type { Knex } from 'knex';

const UP = `
create table managed_applications (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices (id) on delete cascade,
  identifier text,
  status text,
  rejection_reason text,
  management_flags bigint,
  has_configuration boolean,
  has_feedback boolean,
  is_validated boolean,
  external_version_identifier bigint,
  unique (device_id, identifier)
);
create index managed_applications_device on managed_applications (device_id, id);

create table installed_provisioning_profiles (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices (id) on delete cascade,
  profile_uuid text,
  name text,
  expires_at timestamptz,
  unique (device_id, profile_uuid)
);
create index installed_provisioning_profiles_device
  on installed_provisioning_profiles (device_id, id);

create table local_users (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices (id) on delete cascade,
  user_name text,
  full_name text,
  uid bigint,
  user_guid text,
  is_logged_in boolean,
  has_data_to_sync boolean,
  has_secure_token boolean,
  is_mobile_account boolean,
  data_quota bigint,
  data_used bigint,
  unique (device_id, user_name)
);
create index local_users_device on local_users (device_id, id);

-- The last one of each device.
create table device_locations (
  id bigint generated always as identity primary key,
  device_id bigint not null unique references devices (id) on delete cascade,
  latitude double precision,
  longitude double precision,
  horizontal_accuracy double precision,
  vertical_accuracy double precision,
  altitude double precision,
  speed double precision,
  course double precision,
  located_at timestamptz
);

create table device_restrictions (
  id bigint generated always as identity primary key,
  device_id bigint not null unique references devices (id) on delete cascade,
  global_restrictions jsonb,
  profile_restrictions jsonb
);
`;

const TABLES = [
  'device_restrictions',
  'device_locations',
  'local_users',
  'installed_provisioning_profiles',
  'managed_applications',
];

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  for (const table of TABLES) await knex.raw('drop table ??', [table]);
}
