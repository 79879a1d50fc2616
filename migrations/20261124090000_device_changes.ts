import type { Knex } from 'knex';

const TABLE = `
-- One row a change; written in the transaction that makes it, never updated.
create table device_changes (
  id bigint primary key generated always as identity,
  device_id bigint not null references devices (id) on delete cascade,
  kind text not null check (kind in ('attribute', 'application', 'profile', 'certificate')),
  change text not null check (change in ('changed', 'appeared', 'gone')),
  -- Of an attribute its name, of an entry its identifier.
  attribute text not null,
  name text,
  "old" text,
  "new" text,
  cause text not null check (cause in ('command', 'report', 'admin', 'enrollment')),
  -- The request type of the command, or the name of the admin's token.
  caused_by text,
  changed_at timestamptz not null default now()
);
create index device_changes_device on device_changes (device_id, id);
create index device_changes_attribute on device_changes (attribute, id);
create index device_changes_kind on device_changes (kind, id);
create index device_changes_cause on device_changes (cause, id);
create index device_changes_time on device_changes (changed_at, id);

-- What the transaction says of itself; without a word it is a check-in of the device.
create function change_cause() returns text language sql stable as $$
  select coalesce(nullif(current_setting('muster.cause', true), ''), 'enrollment')
$$;
create function change_caused_by() returns text language sql stable as $$
  select nullif(current_setting('muster.caused_by', true), '')
$$;
`;

/** Neither secrets nor what changes with each report, such as the battery level and the free space. */
const ATTRIBUTES = [
  ...['device_name', 'hostname', 'local_hostname', 'asset_tag', 'time_zone'],
  ...['os_version', 'build_version', 'supplemental_os_version_extra', 'supplemental_build_version'],
  ...['product_name', 'model', 'serial_number', 'udid', 'modem_firmware_version'],
  ...['enrollment_type', 'enrollment_method', 'managed_apple_account', 'user_approved_enrollment'],
  ...['is_supervised', 'is_multi_user', 'itunes_store_account_is_active'],
  ...['passcode_present', 'passcode_compliant', 'passcode_compliant_with_profiles'],
  ...['hardware_encryption_caps', 'fde_enabled', 'fde_has_irk', 'fde_has_prk'],
  ...['firewall_enabled', 'block_all_incoming', 'stealth_mode_enabled', 'sip_enabled'],
  ...['authenticated_root_volume_enabled', 'is_recovery_lock_enabled', 'firmware_password_exists'],
  ...['remote_desktop_enabled', 'is_activation_lock_enabled', 'is_mdm_lost_mode_enabled'],
  ...['is_device_locator_service_enabled', 'is_cloud_backup_enabled'],
  ...['data_roaming_enabled', 'voice_roaming_enabled', 'personal_hotspot_enabled'],
  ...['imei', 'meid', 'iccid', 'phone_number', 'wifi_mac', 'bluetooth_mac'],
];

/** A value that is known for the first time is no change. A new enrollment forgets values: no change either. */
const HAS_CHANGED = ATTRIBUTES.map(
  (name) => `(old.${name} is not null and new.${name} is distinct from old.${name})`,
).join('\n      or ');
/** Its first enrollment is how a device begins. */
const ENROLLMENT_CHANGED = `(old.is_enrolled is true and new.is_enrolled is not true
      or old.is_enrolled is not true and new.is_enrolled is true and new.enrollment_number > 1)`;

const TRIGGER = `
create function write_device_changes() returns trigger language plpgsql as $$
declare
  of_change text := change_cause();
begin
  insert into device_changes (device_id, kind, change, attribute, "old", "new", cause, caused_by)
  select new.id, 'attribute', 'changed', v.attribute, v.former, v.present, of_change,
    change_caused_by()
  from (values
    ${ATTRIBUTES.map((name) => `('${name}', old.${name}::text, new.${name}::text)`).join(',\n    ')}
  ) as v (attribute, former, present)
  where v.former is not null and v.former is distinct from v.present
    and (v.present is not null or of_change <> 'enrollment');
  if ${ENROLLMENT_CHANGED} then
    insert into device_changes (device_id, kind, change, attribute, "old", "new", cause, caused_by)
    values (new.id, 'attribute', 'changed', 'is_enrolled', (old.is_enrolled is true)::text,
      (new.is_enrolled is true)::text, of_change, change_caused_by());
  end if;
  return null;
end $$;
create trigger device_changes_of_attributes
  after update of ${[...ATTRIBUTES, 'is_enrolled'].join(', ')} on devices
  for each row when (${ENROLLMENT_CHANGED}
      or ${HAS_CHANGED})
  execute function write_device_changes();
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLE);
  await knex.raw(TRIGGER);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
drop trigger device_changes_of_attributes on devices;
drop function write_device_changes();
drop table device_changes;
drop function change_cause();
drop function change_caused_by();`);
}
