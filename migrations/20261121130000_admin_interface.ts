import type { Knex } from 'knex';

// The word "sealed" marks bytes encrypted under MASTER_KEY; the record's identity is bound to them.
const UP = `
create extension if not exists pg_trgm;

-- First answers to writes with an Idempotency-Key, for a day.
create table idempotency_keys (
  actor text not null,
  key text not null,
  request_digest bytea not null,
  status smallint,
  headers jsonb,
  body bytea,
  created_at timestamptz not null default now(),
  primary key (actor, key)
);
create index idempotency_keys_created_at on idempotency_keys (created_at);

create table device_groups (
  id bigint generated always as identity primary key,
  name text not null constraint device_groups_name_unique unique,
  description text,
  created_at timestamptz not null default now()
);

create table device_group_devices (
  device_group_id bigint not null references device_groups (id) on delete cascade,
  device_id bigint not null references devices (id) on delete cascade,
  primary key (device_group_id, device_id)
);
create index device_group_devices_device on device_group_devices (device_id, device_group_id);

create table applications (
  id bigint generated always as identity primary key,
  discriminator text not null default 'applications' check (discriminator in
    ('applications', 'enterprise_mac', 'enterprise_ios', 'appstore_mac', 'appstore_ios')),
  display_name text not null,
  bundle_id text not null,
  description text,
  version text,
  itunes_store_id bigint,
  purchase_method integer check (purchase_method in (0, 1)),
  management_flags integer check (management_flags between 0 and 7),
  change_management_state text default 'Managed',
  country text,
  artist_id bigint,
  artist_name text,
  artist_view_url text,
  artwork_url60 text,
  artwork_url100 text,
  artwork_url512 text,
  release_notes text,
  release_date timestamptz,
  minimum_os_version text,
  file_size_bytes bigint,
  manifest_url text,
  manifest_bundle_version text,
  manifest_kind text not null default 'software',
  manifest_title text,
  manifest_subtitle text,
  manifest_size_in_bytes bigint,
  manifest_full_size_image_url text,
  manifest_full_size_image_needs_shine boolean,
  manifest_display_image_url text,
  manifest_display_image_needs_shine boolean,
  manifest_package_url text,
  manifest_checksum_type text check (manifest_checksum_type in ('md5', 'sha256')),
  manifest_checksum_chunk_size bigint,
  manifest_checksums jsonb,
  created_at timestamptz not null default now()
);
create index applications_bundle_id on applications (bundle_id);

create table application_tags (
  application_id bigint not null references applications (id) on delete cascade,
  tag_id bigint not null references tags (id) on delete cascade,
  primary key (application_id, tag_id)
);
create index application_tags_tag on application_tags (tag_id, application_id);

-- The fingerprint as text for those who filter by it; the device path joins by the bytes.
alter table certificates rename column fingerprint_sha256 to fingerprint;
alter table certificates add column fingerprint_sha256 text
  generated always as (encode(fingerprint, 'hex')) stored;
create index certificates_fingerprint_sha256 on certificates (fingerprint_sha256);
-- The certificates that came with it, its issuer first: DER one after the other.
alter table certificates add column chain_der bytea;
-- SHA-256 of the certificate of the CA that issued the identity, as it was when it was pinned.
alter table device_identities add column issuer bytea check (octet_length(issuer) = 32);

create table certificate_signing_requests (
  id bigint generated always as identity primary key,
  purpose text not null check (purpose in ('mdm.cacert', 'mdm.pushcert', 'mdm.webcrt', 'mdm.device',
    'mdm.encrypt', 'dep.stoken', 'dep.anchor', 'dep.supervision')),
  subject text not null,
  der bytea not null,
  public_key_fingerprint bytea not null,
  rsa_private_key_id bigint references rsa_private_keys (id),
  created_at timestamptz not null default now()
);
create index certificate_signing_requests_key on certificate_signing_requests (rsa_private_key_id);

create table dep_profiles (
  id bigint generated always as identity primary key,
  uuid uuid,
  profile_name text not null,
  url text not null,
  allow_pairing boolean not null default true,
  is_supervised boolean not null default false,
  is_multi_user boolean not null default false,
  is_mandatory boolean not null default false,
  await_device_configured boolean not null default false,
  is_mdm_removable boolean not null default true,
  support_phone_number text,
  support_email_address text,
  org_magic text,
  department text,
  auto_advance_setup boolean not null default false,
  anchor_certs jsonb,
  supervising_host_certs jsonb,
  skip_setup_items jsonb,
  language text,
  region text,
  configuration_web_url text,
  last_upload_at timestamptz,
  dep_account_id bigint,
  created_at timestamptz not null default now()
);

create table dep_accounts (
  id bigint generated always as identity primary key,
  consumer_key text constraint dep_accounts_consumer_key_unique unique,
  access_token text,
  sealed_consumer_secret bytea,
  sealed_access_secret bytea,
  sealed_auth_session_token bytea,
  access_token_expiry timestamptz,
  token_updated_at timestamptz,
  server_name text,
  server_uuid uuid,
  admin_id text,
  facilitator_id text,
  org_name text,
  org_email text,
  org_phone text,
  org_address text,
  org_id text,
  org_id_hash text,
  org_type text check (org_type in ('edu', 'org')),
  org_version text check (org_version in ('v1', 'v2')),
  url text,
  cursor text,
  more_to_follow boolean,
  fetched_until timestamptz,
  default_dep_profile_id bigint references dep_profiles (id) on delete set null,
  created_at timestamptz not null default now()
);
create index dep_accounts_default_dep_profile on dep_accounts (default_dep_profile_id);
alter table dep_profiles add foreign key (dep_account_id) references dep_accounts (id);
create index dep_profiles_dep_account on dep_profiles (dep_account_id);

alter table devices add column dep_profile_id bigint references dep_profiles (id) on delete set null;
create index devices_dep_profile on devices (dep_profile_id) where dep_profile_id is not null;

-- A profile is known by its PayloadIdentifier; each file uploaded for it is a version of it.
create table profiles (
  id bigint generated always as identity primary key,
  identifier text not null,
  uuid text not null,
  display_name text,
  description text,
  organization text,
  version bigint not null,
  scope text not null default 'User' check (scope in ('User', 'System')),
  removal_disallowed boolean,
  expiration_date timestamptz,
  removal_date timestamptz,
  duration_until_removal double precision,
  consent_en text,
  holds_secrets boolean not null,
  is_signed boolean not null,
  signer text,
  current_version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index profiles_identifier on profiles (lower(identifier));

-- sealed_content is the top level of the file with an empty PayloadContent, sealed_original the file
-- itself. content_digest is keyed: a plain one would let guesses at a secret be tried.
create table profile_versions (
  id bigint generated always as identity primary key,
  profile_id bigint not null references profiles (id) on delete cascade,
  number integer not null,
  uuid text not null,
  format text not null check (format in ('xml', 'binary')),
  is_signed boolean not null,
  signer text,
  signer_fingerprint_sha256 text,
  signer_is_trusted boolean,
  holds_secrets boolean not null,
  size integer not null,
  content_digest bytea not null,
  sealed_original bytea not null,
  sealed_content bytea not null,
  warnings jsonb not null default '[]',
  uploaded_by text not null,
  created_at timestamptz not null default now(),
  unique (profile_id, number)
);

-- One row for each element of PayloadContent, in its order. Only those of the profile's current
-- version have its profile_id.
create table profile_payloads (
  id bigint generated always as identity primary key,
  profile_id bigint references profiles (id) on delete cascade,
  profile_version_id bigint not null references profile_versions (id) on delete cascade,
  position integer not null,
  payload_type text not null,
  identifier text not null,
  uuid text not null,
  version bigint not null,
  display_name text,
  description text,
  organization text,
  is_known boolean not null,
  sealed_content bytea not null
);
create index profile_payloads_profile on profile_payloads (profile_id, position);
create unique index profile_payloads_version on profile_payloads (profile_version_id, position);
create index profile_payloads_type on profile_payloads (payload_type);

create table profile_tags (
  profile_id bigint not null references profiles (id) on delete cascade,
  tag_id bigint not null references tags (id) on delete cascade,
  primary key (profile_id, tag_id)
);
create index profile_tags_tag on profile_tags (tag_id, profile_id);

create table profile_device_groups (
  profile_id bigint not null references profiles (id) on delete cascade,
  device_group_id bigint not null references device_groups (id) on delete cascade,
  primary key (profile_id, device_group_id)
);
create index profile_device_groups_group on profile_device_groups (device_group_id, profile_id);

-- What lists are sorted and searched by. Nothing here changes with a mere contact or when a command
-- is handed out: an index on last_seen would cost each contact four times as much, one on a
-- command's status or sent_at would rewrite every index with each command sent.
create index devices_device_name on devices (device_name, id);
create index devices_model_name on devices (model_name, id);
create index devices_os_version on devices (os_version, id);
create index devices_serial_number_id on devices (serial_number, id);
drop index devices_serial_number;
create index devices_enrolled_at on devices (enrolled_at, id);
create index devices_platform on devices (platform, is_enrolled, is_supervised);
create index devices_search on devices using gin
  (device_name gin_trgm_ops, serial_number gin_trgm_ops, hostname gin_trgm_ops);
create index commands_queued_at on commands (queued_at, id);
create index installed_applications_bundle_identifier
  on installed_applications (bundle_identifier, device_id);
create index installed_applications_name on installed_applications using gin (name gin_trgm_ops);
`;

const DOWN = `
drop index installed_applications_name;
drop index installed_applications_bundle_identifier;
drop index commands_queued_at;
drop index devices_search;
drop index devices_platform;
drop index devices_enrolled_at;
create index devices_serial_number on devices (serial_number);
drop index devices_serial_number_id;
drop index devices_os_version;
drop index devices_model_name;
drop index devices_device_name;
drop table profile_device_groups;
drop table profile_tags;
drop table profile_payloads;
drop table profile_versions;
drop table profiles;
alter table devices drop column dep_profile_id;
alter table dep_profiles drop column dep_account_id;
drop table dep_accounts;
drop table dep_profiles;
drop table certificate_signing_requests;
alter table device_identities drop column issuer;
alter table certificates drop column chain_der;
alter table certificates drop column fingerprint_sha256;
alter table certificates rename column fingerprint to fingerprint_sha256;
drop table application_tags;
drop table applications;
drop table device_group_devices;
drop table device_groups;
drop table idempotency_keys;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
