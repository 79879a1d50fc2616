import type { Knex } from 'knex';

// The word "sealed" marks bytes encrypted under MASTER_KEY; the record's identity is bound to them.
const UP = `
create table tokens (
  id bigint generated always as identity primary key,
  name text not null,
  token_hash bytea not null unique,
  role text not null check (role in ('viewer', 'operator', 'admin')),
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);

create table audit_events (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  role text not null,
  source_address text,
  action text not null,
  target_type text not null,
  target_id text,
  request_id text,
  outcome text not null default 'success',
  details jsonb
);
create index audit_events_at on audit_events (at);
create function audit_events_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit_events is append-only';
end $$;
create trigger audit_events_append_only before update or delete on audit_events
  for each row execute function audit_events_refuse_change();

create table server_settings (
  name text primary key,
  value jsonb not null,
  updated_at timestamptz not null default now()
);

create table rsa_private_keys (
  id bigint generated always as identity primary key,
  name text,
  key_type text not null,
  key_size integer not null,
  fingerprint_sha256 text not null unique,
  sealed_pkcs8 bytea not null,
  created_at timestamptz not null default now()
);

create table certificates (
  id bigint generated always as identity primary key,
  purpose text not null check (purpose in ('mdm.cacert', 'mdm.pushcert', 'mdm.webcrt', 'mdm.device',
    'mdm.encrypt', 'dep.stoken', 'dep.anchor', 'dep.supervision')),
  subject text not null,
  issuer text not null,
  serial text not null,
  x509_cn text,
  not_before timestamptz not null,
  not_after timestamptz not null,
  fingerprint_sha256 bytea not null unique check (octet_length(fingerprint_sha256) = 32),
  der bytea not null,
  is_ca boolean not null default false,
  push_topic text,
  revoked_at timestamptz,
  rsa_private_key_id bigint references rsa_private_keys (id),
  created_at timestamptz not null default now()
);
create index certificates_purpose on certificates (purpose, id);
create index certificates_rsa_private_key on certificates (rsa_private_key_id);

create table organizations (
  id smallint primary key default 1 check (id = 1),
  name text not null,
  payload_prefix text not null,
  x509_ou text,
  x509_o text,
  x509_st text,
  x509_c text,
  updated_at timestamptz not null default now()
);

create table scep_configurations (
  id smallint primary key default 1 check (id = 1),
  source_type text not null default 'InternalSCEP'
    check (source_type in ('InternalPKCS12', 'InternalSCEP', 'ExternalSCEP')),
  url text,
  challenge_enabled boolean not null default true,
  sealed_challenge bytea,
  ca_fingerprint text,
  subject text,
  key_size integer not null default 2048,
  key_type text not null default 'RSA',
  key_usage integer not null default 5,
  subject_alt_name jsonb,
  retries integer not null default 3,
  retry_delay integer not null default 10,
  certificate_renewal_time_interval integer not null default 14,
  updated_at timestamptz not null default now()
);

create table devices (
  id bigint generated always as identity primary key,
  udid text,
  enrollment_id text,
  enrollment_state text check (enrollment_state in ('dep', 'authenticated', 'enrolled', 'unenrolled')),
  enrollment_type text check (enrollment_type in ('device', 'user')),
  enrollment_number integer not null default 0,
  is_enrolled boolean not null default false,
  platform text check (platform in ('iOS', 'macOS', 'tvOS', 'visionOS', 'watchOS')),
  topic text,
  sealed_push bytea,
  push_state text check (push_state in ('ok', 'unregistered', 'bad_token')),
  device_name text,
  hostname text,
  local_hostname text,
  build_version text,
  supplemental_build_version text,
  os_version text,
  supplemental_os_version_extra text,
  model text,
  model_name text,
  model_number text,
  product_name text,
  serial_number text,
  is_apple_silicon boolean,
  awaiting_configuration boolean,
  authenticated_at timestamptz,
  enrolled_at timestamptz,
  unenrolled_at timestamptz,
  tokenupdate_at timestamptz,
  last_seen timestamptz,
  last_push_at timestamptz,
  last_apns_id text,
  failed_push_count integer not null default 0,
  available_device_capacity double precision,
  device_capacity double precision,
  battery_level double precision not null default -1,
  has_battery boolean,
  wifi_mac text,
  bluetooth_mac text,
  ethernet_mac text,
  ethernet_macs jsonb,
  imei text,
  meid text,
  iccid text,
  phone_number text,
  modem_firmware_version text,
  cellular_technology integer,
  service_subscriptions jsonb,
  current_carrier_network text,
  sim_carrier_network text,
  subscriber_carrier_network text,
  carrier_settings_version text,
  sim_mcc text,
  sim_mnc text,
  subscriber_mcc text,
  subscriber_mnc text,
  current_mcc text,
  current_mnc text,
  is_roaming boolean,
  voice_roaming_enabled boolean,
  data_roaming_enabled boolean,
  personal_hotspot_enabled boolean,
  is_network_tethered boolean,
  is_supervised boolean,
  is_multi_user boolean,
  is_device_locator_service_enabled boolean,
  is_activation_lock_enabled boolean,
  is_activation_lock_supported boolean,
  is_do_not_disturb_in_effect boolean,
  is_mdm_lost_mode_enabled boolean,
  is_cloud_backup_enabled boolean,
  last_cloud_backup_date timestamptz,
  itunes_store_account_is_active boolean,
  itunes_store_account_hash text,
  eas_device_identifier text,
  device_id text,
  maximum_resident_users integer,
  resident_users integer,
  estimated_resident_users integer,
  quota_size bigint,
  user_session_timeout integer,
  temporary_session_timeout integer,
  temporary_session_only boolean,
  managed_apple_id_default_domains jsonb,
  online_authentication_grace_period integer,
  skip_language_and_locale_setup_for_new_users boolean,
  diagnostic_submission_enabled boolean,
  app_analytics_enabled boolean,
  pin_required_for_erase_device boolean,
  pin_required_for_device_lock boolean,
  supports_ios_app_installs boolean,
  supports_lom_device boolean,
  time_zone text,
  software_update_device_id text,
  software_update_settings jsonb,
  provisioning_udid text,
  eacs_preflight text,
  organization_info jsonb,
  languages jsonb,
  locales jsonb,
  active_managed_users jsonb,
  auto_setup_admin_accounts jsonb,
  current_console_managed_user text,
  mdm_options jsonb,
  accessibility_settings jsonb,
  passcode_present boolean,
  passcode_compliant boolean,
  passcode_compliant_with_profiles boolean,
  passcode_lock_grace_period integer,
  passcode_lock_grace_period_enforced integer,
  auto_lock_time integer,
  hardware_encryption_caps integer,
  fde_enabled boolean,
  fde_has_prk boolean,
  fde_has_irk boolean,
  firewall_enabled boolean,
  block_all_incoming boolean,
  stealth_mode_enabled boolean,
  firewall_logging_enabled boolean,
  firewall_logging_option text,
  firewall_applications jsonb,
  sip_enabled boolean,
  authenticated_root_volume_enabled boolean,
  remote_desktop_enabled boolean,
  firmware_password_exists boolean,
  firmware_password_change_pending boolean,
  firmware_password_allow_oroms boolean,
  is_recovery_lock_enabled boolean,
  secure_boot jsonb,
  enrolled_via_dep boolean,
  user_approved_enrollment boolean,
  is_user_enrollment boolean,
  is_activation_lock_manageable boolean,
  bootstrap_token_allowed_for_authentication text,
  bootstrap_token_required_for_software_update boolean,
  bootstrap_token_required_for_kernel_extension_approval boolean,
  osu_catalog_url text,
  osu_is_default_catalog boolean,
  osu_previous_scan_date timestamptz,
  osu_previous_scan_result text,
  osu_perform_periodic_check boolean,
  osu_automatic_check_enabled boolean,
  osu_background_download_enabled boolean,
  osu_automatic_app_installation_enabled boolean,
  osu_automatic_os_installation_enabled boolean,
  osu_automatic_security_updates_enabled boolean,
  is_dep boolean not null default false,
  description text,
  color text,
  asset_tag text,
  os text,
  device_family text,
  device_assigned_by text,
  device_assigned_date timestamptz,
  profile_status text,
  profile_uuid text,
  profile_assign_time timestamptz,
  profile_push_time timestamptz,
  created_at timestamptz not null default now()
) with (fillfactor = 80);
create unique index devices_udid on devices (lower(udid));
create unique index devices_enrollment_id on devices (lower(enrollment_id));
create index devices_serial_number on devices (serial_number);

-- One row for each certificate a device has presented or was given: the pin of device and identity.
create table device_identities (
  fingerprint bytea primary key check (octet_length(fingerprint) = 32),
  device_id bigint references devices (id) on delete set null,
  state text not null check (state in ('active', 'renewal', 'superseded', 'tombstone')),
  udid text,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now()
);
create index device_identities_device on device_identities (device_id);

create table device_users (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices (id) on delete cascade,
  user_key text not null,
  user_id text,
  short_name text,
  long_name text,
  not_on_console boolean,
  sealed_push bytea,
  is_enrolled boolean not null default false,
  tokenupdate_at timestamptz,
  last_seen timestamptz,
  created_at timestamptz not null default now(),
  unique (device_id, user_key)
);

-- Escrowed secrets. enrollment_number tells which enrollment of the device each belongs to, so that
-- a former owner's token is never sent to the next.
create table device_secrets (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices (id) on delete cascade,
  enrollment_number integer not null,
  kind text not null check (kind in ('unlock_token', 'bootstrap_token', 'activation_lock_bypass_code',
    'fde_personal_recovery_key_cms', 'fde_personal_recovery_key_device_key')),
  sealed bytea not null,
  created_at timestamptz not null default now()
);
create index device_secrets_device on device_secrets (device_id, kind, id desc);

create table tags (
  id bigint generated always as identity primary key,
  name text not null constraint tags_name_unique unique,
  color text not null default '888888'
);

create table device_tags (
  device_id bigint not null references devices (id) on delete cascade,
  tag_id bigint not null references tags (id) on delete cascade,
  primary key (device_id, tag_id)
);
create index device_tags_tag on device_tags (tag_id, device_id);

-- The indexes look at is_pending, which stays while status goes from Queued to Sent and back, so that
-- handing out a command rewrites no index. payload and result are plists as on the wire, sealed
-- when they hold a secret.
create table commands (
  id bigint generated always as identity primary key,
  uuid uuid not null unique,
  device_id bigint not null references devices (id) on delete cascade,
  request_type text not null,
  status text not null default 'Queued' check (status in ('Queued', 'Sent', 'Acknowledged', 'Error',
    'CommandFormatError', 'NotNow', 'Expired', 'Cancelled')),
  is_pending boolean not null generated always as (status in ('Queued', 'Sent', 'NotNow')) stored,
  priority integer not null default 0,
  ttl integer not null default 5 check (ttl >= 0),
  attempts integer not null default 0,
  queued_at timestamptz not null default now(),
  sent_at timestamptz,
  acknowledged_at timestamptz,
  after timestamptz,
  expires_at timestamptz,
  reason text,
  error_chain jsonb,
  needs_handling boolean not null default false,
  payload bytea not null,
  result bytea
) with (fillfactor = 70);
create index commands_pending on commands (device_id, priority desc, id) where is_pending;
create index commands_device on commands (device_id, id);
create index commands_needs_handling on commands (id) where needs_handling;
create index commands_expires on commands (expires_at)
  where expires_at is not null and is_pending;

-- Reports that name a command Muster does not know (of a lost database, or another server).
create table unknown_reports (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices (id) on delete cascade,
  user_key text,
  command_uuid text not null,
  status text not null,
  sealed_report bytea not null,
  received_at timestamptz not null default now()
);
create index unknown_reports_device on unknown_reports (device_id, id);

create table installed_applications (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices (id) on delete cascade,
  bundle_identifier text,
  name text,
  short_version text,
  version text,
  bundle_size bigint,
  dynamic_size bigint,
  is_validated boolean,
  external_version_identifier bigint,
  distributor_identifier text,
  adhoc_codesigned boolean,
  appstore_vendable boolean,
  beta_app boolean,
  device_based_vpp boolean,
  has_update_available boolean,
  installing boolean,
  is_app_clip boolean,
  download_failed boolean,
  download_cancelled boolean,
  download_paused boolean,
  download_waiting boolean,
  source text
);
create index installed_applications_device on installed_applications (device_id, id);

create table installed_certificates (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices (id) on delete cascade,
  x509_cn text,
  is_identity boolean,
  fingerprint_sha256 text,
  subject text,
  issuer text,
  serial text,
  not_before timestamptz,
  not_after timestamptz,
  der_data bytea
);
create index installed_certificates_device on installed_certificates (device_id, id);

create table installed_profiles (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices (id) on delete cascade,
  has_removal_password boolean,
  is_encrypted boolean,
  is_managed boolean,
  payload_description text,
  payload_display_name text,
  payload_identifier text,
  payload_organization text,
  payload_removal_disallowed boolean,
  payload_uuid text,
  payload_version bigint,
  source text,
  signer_certificates jsonb
);
create index installed_profiles_device on installed_profiles (device_id, id);

create table installed_payloads (
  id bigint generated always as identity primary key,
  installed_profile_id bigint not null references installed_profiles (id) on delete cascade,
  payload_description text,
  payload_display_name text,
  payload_identifier text,
  payload_organization text,
  payload_type text,
  payload_uuid text,
  payload_version bigint
);
create index installed_payloads_profile on installed_payloads (installed_profile_id);

create table available_os_updates (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices (id) on delete cascade,
  allows_install_later boolean,
  app_identifiers_to_close jsonb,
  build text,
  deferred_until timestamptz,
  download_size bigint,
  human_readable_name text,
  human_readable_name_locale text,
  install_size bigint,
  is_config_data_update boolean,
  is_critical boolean,
  is_firmware_update boolean,
  is_major_os_update boolean,
  is_security_response boolean,
  metadata_url text,
  product_key text,
  product_name text,
  requires_bootstrap_token boolean,
  restart_required boolean,
  supplemental_build_version text,
  supplemental_os_version_extra text,
  version text
);
create index available_os_updates_device on available_os_updates (device_id, id);

-- A challenge is signed, not stored; this row appears with its first use.
create table scep_challenges (
  nonce bytea primary key,
  csr_fingerprint bytea not null,
  certificate_id bigint not null unique references certificates (id) on delete cascade,
  used_at timestamptz not null default now(),
  locked_at timestamptz
);
`;

const TABLES = [
  'scep_challenges',
  'available_os_updates',
  'installed_payloads',
  'installed_profiles',
  'installed_certificates',
  'installed_applications',
  'unknown_reports',
  'commands',
  'device_tags',
  'tags',
  'device_secrets',
  'device_users',
  'device_identities',
  'devices',
  'scep_configurations',
  'organizations',
  'certificates',
  'rsa_private_keys',
  'server_settings',
  'audit_events',
  'tokens',
];

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  for (const table of TABLES) await knex.raw(`drop table ${table}`);
  await knex.raw('drop function audit_events_refuse_change()');
}
