import type { Knex } from 'knex';

const DEFAULTS = ['iphone', 'ipad', 'mac', 'apple_tv', 'vision'].map((family) => {
  const column = `default_${family}_profile_id`;
  return { column, index: `dep_accounts_${column}` };
});

const UP = `
-- What Apple's service last said of the account, and how far its devices are known here.
alter table dep_accounts
  add column status text not null default 'unconfirmed' check (status in (
    'unconfirmed', 'ok', 'terms_not_signed', 'token_rejected', 'token_expired', 'throttled',
    'unreachable', 'error', 'lab_off')),
  -- In Apple's own words.
  add column status_text text,
  add column status_advice text,
  add column status_at timestamptz,
  add column confirmed_at timestamptz,
  ${DEFAULTS.map(
    ({ column }) => `add column ${column} bigint references dep_profiles (id) on delete set null,`,
  ).join('\n  ')}
  -- fetch: all devices are being read; delta: what has changed since.
  add column sync_phase text not null default 'fetch' check (sync_phase in ('fetch', 'delta')),
  -- Of the full fetch that is under way, or was the last.
  add column fetch_number integer not null default 0,
  -- When all devices had been read last; and how many the last full fetch missed that are not yet
  -- taken for removed, since they were most of them.
  add column fetched_fully_at timestamptz,
  add column suspected_losses integer not null default 0,
  add column sync_state text not null default 'idle'
    check (sync_state in ('idle', 'waiting', 'running')),
  add column sync_kind text check (sync_kind in ('full', 'delta')),
  add column sync_started_at timestamptz,
  add column sync_finished_at timestamptz,
  add column sync_pages integer not null default 0,
  add column sync_devices integer not null default 0,
  add column sync_error text,
  add column next_sync_at timestamptz,
  -- Who may write pages now: another may take over once the lease has ended.
  add column sync_owner text,
  add column sync_lease_until timestamptz,
  add column reconciled_at timestamptz,
  add column reconcile_report jsonb,
  -- The lab's stand-in made its token, not Apple.
  add column is_lab boolean not null
    generated always as (coalesce(starts_with(consumer_key, 'CK_lab'), false)) stored;
${DEFAULTS.map(
  ({ column, index }) =>
    `create index ${index} on dep_accounts (${column}) where ${column} is not null;`,
).join('\n')}

-- Every token an account has had, without its secrets.
create table dep_tokens (
  id bigint generated always as identity primary key,
  dep_account_id bigint not null references dep_accounts (id) on delete cascade,
  consumer_key text not null,
  access_token text not null,
  access_token_expiry timestamptz,
  token_certificate_id bigint references certificates (id) on delete set null,
  uploaded_by text,
  created_at timestamptz not null default now(),
  replaced_at timestamptz
);
create index dep_tokens_account on dep_tokens (dep_account_id, id);
create index dep_tokens_certificate on dep_tokens (token_certificate_id)
  where token_certificate_id is not null;

-- Certificates made for Apple's portal, and the account that a token for one is meant to renew.
create table dep_token_certificates (
  certificate_id bigint primary key references certificates (id) on delete cascade,
  dep_account_id bigint references dep_accounts (id) on delete cascade,
  created_at timestamptz not null default now(),
  used_at timestamptz
);
create index dep_token_certificates_account on dep_token_certificates (dep_account_id)
  where dep_account_id is not null;

alter table dep_profiles
  -- local: it has no account; pending: Apple is still to be told.
  add column status text not null default 'local'
    check (status in ('local', 'pending', 'defined', 'failed')),
  add column status_text text,
  add column status_advice text,
  add column status_at timestamptz,
  -- SHA-256 of what was defined at Apple under the uuid.
  add column definition_digest bytea,
  -- The url was this server's own when it was written, and stays so when PUBLIC_URL changes.
  add column follows_public_url boolean not null default false;
create index dep_profiles_uuid on dep_profiles (uuid) where uuid is not null;

-- Each definition gets a uuid of its own at Apple, where none is ever deleted.
create table dep_profile_definitions (
  uuid uuid primary key,
  dep_profile_id bigint references dep_profiles (id) on delete set null,
  dep_account_id bigint not null references dep_accounts (id) on delete cascade,
  digest bytea not null,
  created_at timestamptz not null default now()
);
create index dep_profile_definitions_profile on dep_profile_definitions (dep_profile_id);
create index dep_profile_definitions_account on dep_profile_definitions (dep_account_id);

-- A serial number of an account: what Apple says of it, what was asked for, and what came of it.
create table dep_devices (
  id bigint generated always as identity primary key,
  dep_account_id bigint not null references dep_accounts (id) on delete cascade,
  serial_number text not null,
  device_id bigint references devices (id) on delete set null,
  -- As Apple tells.
  model text,
  description text,
  color text,
  asset_tag text,
  os text,
  device_family text,
  device_assigned_by text,
  device_assigned_date timestamptz,
  profile_uuid text,
  profile_status text,
  profile_assign_time timestamptz,
  profile_push_time timestamptz,
  op_type text,
  op_date timestamptz,
  -- Null: Apple has never listed it, it was only assigned here.
  listed_at timestamptz,
  told_at timestamptz,
  fetch_number integer not null default 0,
  -- Apple has taken it from the account; it stays as history, and so does what was wanted of it.
  removed_at timestamptz,
  -- What the device did.
  contacted_at timestamptz,
  is_enrolled boolean not null default false,
  enrolled_at timestamptz,
  -- False: an admin has taken its profile away, and it gets no default one.
  auto_assign boolean not null default true,
  -- Nobody gave it its profile by hand: it had that of its account, and follows it.
  by_default boolean not null default false,
  -- When Apple is to be told which profile it has: the one of the device, or none.
  assignment_due_at timestamptz,
  assignment_attempts integer not null default 0,
  assignment_result text,
  assignment_at timestamptz,
  activation_lock_result text,
  activation_lock_at timestamptz,
  disown_result text,
  disowned_at timestamptz,
  last_error text,
  last_error_at timestamptz,
  created_at timestamptz not null default now(),
  stage text not null generated always as (case
    when removed_at is not null then 'removed'
    when is_enrolled then 'enrolled'
    when profile_uuid is null then 'unassigned'
    when contacted_at >= coalesce(profile_assign_time, contacted_at) then 'contacted'
    when profile_status = 'pushed' then 'pushed'
    else 'assigned' end) stored,
  unique (dep_account_id, serial_number)
) with (fillfactor = 80);
create index dep_devices_serial_number on dep_devices (serial_number);
create index dep_devices_device on dep_devices (device_id);
create index dep_devices_stage on dep_devices (dep_account_id, stage, id);
create index dep_devices_assignment_due on dep_devices (dep_account_id, assignment_due_at)
  where assignment_due_at is not null;
create index dep_devices_unlisted on dep_devices (dep_account_id, stage)
  where listed_at is null and removed_at is null;
create index dep_devices_error on dep_devices (dep_account_id, last_error_at)
  where last_error is not null;

-- What those devices show that are to have a profile which Apple refuses.
create function dep_profile_fault(profile dep_profiles) returns text language sql immutable as $$
  select case when profile.status = 'failed' then 'profile ''' || profile.profile_name
    || ''' is not at Apple: ' || coalesce(profile.status_text, 'Apple refuses it') end
$$;

-- Whoever gives a device a profile, or takes it away, has Apple told of it. What came of its former
-- profile says nothing of this one; faults of other kinds name theirs and stay.
create function require_dep_assignment() returns trigger language plpgsql as $$
declare
  account bigint;
  fault text;
  other_faults constant text := '^(enrollment|disown|activation lock): ';
begin
  if new.dep_profile_id is null then
    -- By hand unless the profile itself is gone.
    update dep_devices set assignment_due_at = case when removed_at is null then now() end,
      assignment_attempts = 0, assignment_result = null, by_default = false,
      (last_error, last_error_at) = (
        select last_error, last_error_at where last_error ~ other_faults),
      auto_assign = auto_assign
        and not exists (select from dep_profiles where id = old.dep_profile_id)
    where device_id = new.id and (removed_at is null or dep_account_id = (
      select dep_account_id from dep_profiles where id = old.dep_profile_id));
    return null;
  end if;
  select p.dep_account_id, dep_profile_fault(p) into account, fault
    from dep_profiles p where p.id = new.dep_profile_id;
  if account is null then
    if tg_argv[0] = 'serial number' then return null; end if;
    raise exception 'the profile % has no account', new.dep_profile_id using errcode = 'MU001';
  end if;
  update dep_devices set by_default = false
    where device_id = new.id and dep_account_id <> account and by_default;
  if new.serial_number is not null then
    insert into dep_devices (dep_account_id, serial_number, device_id, is_enrolled, enrolled_at,
      assignment_due_at, last_error, last_error_at)
    values (account, new.serial_number, new.id, new.is_enrolled,
      case when new.is_enrolled then new.enrolled_at end, now(), fault,
      case when fault is not null then now() end)
    on conflict (dep_account_id, serial_number) do update
      set device_id = excluded.device_id, assignment_attempts = 0, auto_assign = true,
        by_default = false, assignment_result = null,
        last_error = coalesce(fault,
          case when dep_devices.last_error ~ other_faults then dep_devices.last_error end),
        last_error_at = case when fault is not null then now()
          when dep_devices.last_error ~ other_faults then dep_devices.last_error_at end,
        assignment_due_at = case when dep_devices.removed_at is null then now() end;
  end if;
  return null;
end $$;
create trigger dep_assignment_wanted after update of dep_profile_id on devices
  for each row when (new.dep_profile_id is distinct from old.dep_profile_id)
  execute function require_dep_assignment();
create trigger dep_assignment_wanted_at_first after insert on devices
  for each row when (new.dep_profile_id is not null)
  execute function require_dep_assignment();
-- A device may tell its serial number later; it must not fail for what admins have done.
create trigger dep_assignment_of_serial_number after update of serial_number on devices
  for each row when (new.dep_profile_id is not null
    and new.dep_profile_id is not distinct from old.dep_profile_id
    and new.serial_number is distinct from old.serial_number)
  execute function require_dep_assignment('serial number');

create function tell_dep_device() returns trigger language plpgsql as $$
begin
  update dep_devices set is_enrolled = new.is_enrolled,
    enrolled_at = case when new.is_enrolled then new.enrolled_at else enrolled_at end
  where device_id = new.id;
  return null;
end $$;
create trigger dep_enrollment_changed after update of is_enrolled, is_dep on devices
  for each row when (new.is_dep
    and (new.is_enrolled, new.is_dep) is distinct from (old.is_enrolled, old.is_dep))
  execute function tell_dep_device();

-- With the wanted profile, where it is one of the same account. Not a join: rows can be locked.
create view dep_device_records as
select x.*, (
  select p.id from devices d join dep_profiles p on p.id = d.dep_profile_id
  where d.id = x.device_id and p.dep_account_id = x.dep_account_id
) as dep_profile_id
from dep_devices x;
`;

const DOWN = `
drop view dep_device_records;
drop trigger dep_enrollment_changed on devices;
drop function tell_dep_device();
drop trigger dep_assignment_of_serial_number on devices;
drop trigger dep_assignment_wanted_at_first on devices;
drop trigger dep_assignment_wanted on devices;
drop function require_dep_assignment();
drop function dep_profile_fault(dep_profiles);
drop table dep_devices;
drop table dep_profile_definitions;
drop index dep_profiles_uuid;
alter table dep_profiles drop column status, drop column status_text, drop column status_advice,
  drop column status_at, drop column definition_digest, drop column follows_public_url;
drop table dep_token_certificates;
drop table dep_tokens;
alter table dep_accounts drop column status, drop column status_text, drop column status_advice,
  drop column status_at, drop column confirmed_at,
  ${DEFAULTS.map(({ column }) => `drop column ${column}, `).join('\n  ')}
  drop column sync_phase, drop column fetch_number, drop column fetched_fully_at,
  drop column suspected_losses, drop column sync_state, drop column sync_kind,
  drop column sync_started_at, drop column sync_finished_at, drop column sync_pages,
  drop column sync_devices, drop column sync_error, drop column next_sync_at,
  drop column sync_owner, drop column sync_lease_until, drop column reconciled_at,
  drop column reconcile_report, drop column is_lab;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
