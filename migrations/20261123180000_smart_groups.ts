import type { Knex } from 'knex';

/** Columns of devices that a rule may name. What changes with every report is not among them. */
const FACTS = `
  app_analytics_enabled asset_tag authenticated_at authenticated_root_volume_enabled
  auto_lock_time awaiting_configuration block_all_incoming bluetooth_mac
  bootstrap_token_allowed_for_authentication
  bootstrap_token_required_for_kernel_extension_approval
  bootstrap_token_required_for_software_update build_version carrier_settings_version cell
  cellular_technology color created_at current_carrier_network current_console_managed_user
  current_mcc current_mnc data_roaming_enabled dep_profile_id description device_assigned_by
  device_assigned_date device_capacity device_family device_id device_name
  diagnostic_submission_enabled eacs_preflight eas_device_identifier enrolled_at enrolled_via_dep
  enrollment_id enrollment_link_id enrollment_method enrollment_number enrollment_replaced_at
  enrollment_state enrollment_type estimated_resident_users ethernet_mac fde_enabled fde_has_irk
  fde_has_prk firewall_enabled firewall_logging_enabled firewall_logging_option
  firmware_password_allow_oroms firmware_password_change_pending firmware_password_exists
  hardware_encryption_caps has_battery hostname iccid imei is_activation_lock_enabled
  is_activation_lock_manageable is_activation_lock_supported is_apple_silicon
  is_cloud_backup_enabled is_dep is_device_locator_service_enabled is_do_not_disturb_in_effect
  is_enrolled is_mdm_lost_mode_enabled is_multi_user is_network_tethered is_recovery_lock_enabled
  is_roaming is_supervised is_user_enrollment itunes_store_account_hash
  itunes_store_account_is_active last_cloud_backup_date local_hostname managed_apple_account
  maximum_resident_users meid model model_name model_number modem_firmware_version
  online_authentication_grace_period os os_version osu_automatic_app_installation_enabled
  osu_automatic_check_enabled osu_automatic_os_installation_enabled
  osu_automatic_security_updates_enabled osu_background_download_enabled osu_catalog_url
  osu_is_default_catalog osu_perform_periodic_check osu_previous_scan_date
  osu_previous_scan_result passcode_compliant passcode_compliant_with_profiles
  passcode_lock_grace_period passcode_lock_grace_period_enforced passcode_present
  personal_hotspot_enabled phone_number pin_required_for_device_lock pin_required_for_erase_device
  platform product_name profile_assign_time profile_push_time profile_status profile_uuid
  provisioning_udid push_state quota_size remote_desktop_enabled replaced_fingerprint_sha256
  resident_users serial_number sim_carrier_network sim_mcc sim_mnc sip_enabled
  skip_language_and_locale_setup_for_new_users software_update_device_id stealth_mode_enabled
  subscriber_carrier_network subscriber_mcc subscriber_mnc supplemental_build_version
  supplemental_os_version_extra supports_ios_app_installs supports_lom_device
  temporary_session_only temporary_session_timeout time_zone topic udid unenrolled_at
  unmet_minimum_os_version user_approved_enrollment user_session_timeout voice_roaming_enabled
  wifi_mac
`
  .trim()
  .split(/\s+/);

const TABLES = `
-- The rule of a smart group is a filter of GET /devices. rule_facts are the facts that it mentions;
-- rule_number counts its changes, so that a job of a former rule ends. evaluated_to is the last device
-- that the job has read; evaluated_at is null until it has read all of them.
alter table device_groups
  add column kind text not null default 'static' check (kind in ('static', 'smart')),
  add column rule jsonb,
  add column rule_facts text[] not null default '{}',
  add column rule_number integer not null default 0,
  add column evaluated_at timestamptz,
  add column evaluated_devices integer not null default 0,
  add column evaluated_to bigint not null default 0,
  add constraint device_groups_rule check (kind = 'static' or rule is not null);

-- One row. facts are those of all rules: other changes leave no mark. version changes with any rule.
-- shortest_age is the shortest time that a rule compares last_seen with.
create table smart_group_state (
  id boolean primary key default true check (id),
  version bigint not null default 0,
  facts text[] not null default '{}',
  shortest_age interval
);
insert into smart_group_state default values;

-- Written in the transaction that changes a fact, never updated; '*' stands for every fact. Without
-- foreign keys: a mark of a device that is gone is removed with the others.
create table smart_group_marks (
  id bigint primary key generated always as identity,
  device_id bigint not null,
  facts text[] not null
);

-- Devices of which a group's rule can't say whether they belong to it: a fact was never reported.
create table device_group_unknown_devices (
  device_group_id bigint not null references device_groups (id) on delete cascade,
  device_id bigint not null references devices (id) on delete cascade,
  primary key (device_group_id, device_id)
);
create index device_group_unknown_devices_device on device_group_unknown_devices (device_id);

-- When a relative time of the rule, such as P30D, may move a device to the other side.
create table device_group_timers (
  device_group_id bigint not null references device_groups (id) on delete cascade,
  device_id bigint not null references devices (id) on delete cascade,
  due_at timestamptz not null,
  primary key (device_group_id, device_id)
);
create index device_group_timers_device on device_group_timers (device_id);
create index device_group_timers_due on device_group_timers (due_at);

-- Changes of membership within the last hour, by which flapping is noticed.
create table device_group_changes (
  device_group_id bigint not null references device_groups (id) on delete cascade,
  device_id bigint not null references devices (id) on delete cascade,
  changed_at timestamptz not null default now()
);
create index device_group_changes_pair on device_group_changes (device_group_id, device_id);
create index device_group_changes_device on device_group_changes (device_id);
create index device_group_changes_time on device_group_changes (changed_at);

-- A device that changed sides three times within an hour, until it has kept still for an hour.
create table group_flaps (
  device_id bigint not null references devices (id) on delete cascade,
  device_group_id bigint not null references device_groups (id) on delete cascade,
  since timestamptz not null default now(),
  until timestamptz not null,
  primary key (device_id, device_group_id)
);
create index group_flaps_group on group_flaps (device_group_id);
create index group_flaps_until on group_flaps (until);

-- Whether the device has ever listed its applications: only then is one that it does not list absent.
alter table devices add column applications_listed boolean;
`;

const ROW_OF = (row: string) => `(${FACTS.map((name) => `${row}.${name}`).join(', ')})`;

const CHANGED = FACTS.map(
  (name) => `case when old.${name} is distinct from new.${name} then '${name}' end`,
);

const TRIGGERS = `
create function mark_device_facts() returns trigger language plpgsql as $$
declare
  changed text[];
begin
  if not exists (select from smart_group_state where facts <> '{}') then
    return null;
  end if;
  changed := array_remove(array[
    ${CHANGED.join(',\n    ')}
  ], null);
  insert into smart_group_marks (device_id, facts)
  select new.id, changed from smart_group_state s where s.facts && changed;
  return null;
end
$$;
create trigger smart_group_facts after update of ${FACTS.join(', ')} on devices
  for each row when (${ROW_OF('old')} is distinct from ${ROW_OF('new')})
  execute function mark_device_facts();

create function mark_new_devices() returns trigger language plpgsql as $$
begin
  insert into smart_group_marks (device_id, facts)
  select c.id, '{*}' from changed c, smart_group_state s where s.facts <> '{}';
  return null;
end
$$;
create trigger smart_group_new_devices after insert on devices
  referencing new table as changed for each statement execute function mark_new_devices();

-- A shorter pause leaves the device on the younger side of every rule.
create function mark_contact() returns trigger language plpgsql as $$
begin
  insert into smart_group_marks (device_id, facts)
  select new.id, '{last_seen}' from smart_group_state s
  where s.facts @> '{last_seen}'
    and (old.last_seen is null or new.last_seen - old.last_seen >= s.shortest_age);
  return null;
end
$$;
create trigger smart_group_contact after update of last_seen on devices for each row
  when (old.last_seen is null and new.last_seen is not null
    or new.last_seen - old.last_seen >= interval '1 hour')
  execute function mark_contact();

create function mark_applications_listed() returns trigger language plpgsql as $$
begin
  insert into smart_group_marks (device_id, facts)
  select new.id, '{installed_applications}' from smart_group_state s
  where s.facts @> '{installed_applications}';
  return null;
end
$$;
create trigger smart_group_applications_listed after update of applications_listed on devices
  for each row when (old.applications_listed is distinct from new.applications_listed)
  execute function mark_applications_listed();

-- The fact is the argument.
create function mark_linked_devices() returns trigger language plpgsql as $$
begin
  insert into smart_group_marks (device_id, facts)
  select distinct c.device_id, array[tg_argv[0]] from changed c, smart_group_state s
  where s.facts @> array[tg_argv[0]];
  return null;
end
$$;
create function mark_updated_devices() returns trigger language plpgsql as $$
begin
  insert into smart_group_marks (device_id, facts)
  select distinct c.device_id, array[tg_argv[0]]
  from (select device_id from changed union select device_id from former) c, smart_group_state s
  where s.facts @> array[tg_argv[0]];
  return null;
end
$$;
${['device_tags', 'device_group_devices', 'installed_applications'].map(linkTriggers).join('')}
create trigger smart_group_installed_applications_update after update on installed_applications
  referencing new table as changed old table as former
  for each statement execute function mark_updated_devices('installed_applications');

-- Rules may also name tags and groups by what they are called.
create function mark_devices_of_tag() returns trigger language plpgsql as $$
begin
  insert into smart_group_marks (device_id, facts)
  select d.device_id, '{tags}' from device_tags d, smart_group_state s
  where d.tag_id = new.id and s.facts @> '{tags}';
  return null;
end
$$;
create trigger smart_group_tag_names after update of name, color on tags for each row
  when ((old.name, old.color) is distinct from (new.name, new.color))
  execute function mark_devices_of_tag();
create function mark_devices_of_group() returns trigger language plpgsql as $$
begin
  insert into smart_group_marks (device_id, facts)
  select d.device_id, '{device_groups}' from device_group_devices d, smart_group_state s
  where d.device_group_id = new.id and s.facts @> '{device_groups}';
  return null;
end
$$;
create trigger smart_group_group_names after update of name on device_groups for each row
  when (old.name is distinct from new.name) execute function mark_devices_of_group();
`;

function linkTriggers(table: string): string {
  const fact = { device_tags: 'tags', device_group_devices: 'device_groups' }[table] ?? table;
  return `
create trigger smart_group_${table}_insert after insert on ${table}
  referencing new table as changed
  for each statement execute function mark_linked_devices('${fact}');
create trigger smart_group_${table}_delete after delete on ${table}
  referencing old table as changed
  for each statement execute function mark_linked_devices('${fact}');`;
}

const DOWN = `
drop trigger smart_group_facts on devices;
drop trigger smart_group_new_devices on devices;
drop trigger smart_group_contact on devices;
drop trigger smart_group_applications_listed on devices;
drop trigger smart_group_tag_names on tags;
drop trigger smart_group_group_names on device_groups;
drop trigger smart_group_installed_applications_update on installed_applications;
${['device_tags', 'device_group_devices', 'installed_applications']
  .flatMap((table) =>
    ['insert', 'delete'].map((event) => `drop trigger smart_group_${table}_${event} on ${table};`),
  )
  .join('\n')}
drop function mark_device_facts();
drop function mark_new_devices();
drop function mark_contact();
drop function mark_applications_listed();
drop function mark_linked_devices();
drop function mark_updated_devices();
drop function mark_devices_of_tag();
drop function mark_devices_of_group();
drop table group_flaps, device_group_changes, device_group_timers, device_group_unknown_devices,
  smart_group_marks, smart_group_state;
alter table devices drop column applications_listed;
alter table device_groups
  drop constraint device_groups_rule,
  drop column kind,
  drop column rule,
  drop column rule_facts,
  drop column rule_number,
  drop column evaluated_at,
  drop column evaluated_devices,
  drop column evaluated_to;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLES);
  await knex.raw(TRIGGERS);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
