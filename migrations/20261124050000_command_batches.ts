import type { Knex } from 'knex';

/**
 * Commands for many devices at once. A slice is what is left to do of a batch: it goes in the transaction that
 * queues its commands. A change of a command's status is noted as a row, so that no report waits for the row
 * of its batch; the rows are summed up soon afterwards.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
create table command_batches (
  id bigint generated always as identity primary key,
  uuid uuid not null default gen_random_uuid() unique,
  name text,
  request_type text not null,
  parameters bytea not null,
  profile_id bigint references profiles(id) on delete set null,
  priority integer,
  ttl integer,
  after timestamptz,
  expires_at timestamptz,
  spread integer not null default 0 check (spread >= 0),
  filter jsonb,
  retry_of_id bigint unique references command_batches(id) on delete set null,
  state text not null default 'expanding'
    check (state in ('expanding', 'running', 'finished', 'cancelled')),
  matched integer not null,
  eligible integer not null default 0,
  reduced integer not null default 0,
  refused jsonb not null default '[]',
  left_out jsonb not null default '[]',
  found jsonb,
  queued integer not null default 0,
  sent integer not null default 0,
  not_now integer not null default 0,
  acknowledged integer not null default 0,
  error integer not null default 0,
  command_format_error integer not null default 0,
  expired integer not null default 0,
  cancelled integer not null default 0,
  created_by text not null,
  created_at timestamptz not null default now(),
  starts_at timestamptz not null default now(),
  expanded_at timestamptz,
  finished_at timestamptz
);
create index command_batches_open on command_batches (id) where finished_at is null;
create index command_batches_profile on command_batches (profile_id) where profile_id is not null;

create table command_batch_slices (
  command_batch_id bigint not null references command_batches(id) on delete cascade,
  number integer not null,
  size integer not null,
  device_ids bigint[] not null,
  device_user_ids bigint[],
  primary key (command_batch_id, number)
);

create table command_batch_devices (
  command_batch_id bigint not null references command_batches(id) on delete cascade,
  device_id bigint not null references devices(id) on delete cascade,
  primary key (command_batch_id, device_id)
);
create index command_batch_devices_device on command_batch_devices (device_id);
create table command_batch_tags (
  command_batch_id bigint not null references command_batches(id) on delete cascade,
  tag_id bigint not null references tags(id) on delete cascade,
  primary key (command_batch_id, tag_id)
);
create index command_batch_tags_tag on command_batch_tags (tag_id);
create table command_batch_device_groups (
  command_batch_id bigint not null references command_batches(id) on delete cascade,
  device_group_id bigint not null references device_groups(id) on delete cascade,
  primary key (command_batch_id, device_group_id)
);
create index command_batch_device_groups_group on command_batch_device_groups (device_group_id);

create table command_batch_changes (
  id bigint generated always as identity primary key,
  command_batch_id bigint not null,
  command_id bigint not null,
  from_status text not null,
  to_status text not null,
  from_error text,
  to_error text,
  message text
);
create index command_batch_changes_batch on command_batch_changes (command_batch_id);

create table command_batch_failures (
  command_batch_id bigint not null references command_batches(id) on delete cascade,
  status text not null,
  error text not null,
  message text,
  count integer not null,
  command_ids bigint[] not null,
  primary key (command_batch_id, status, error)
);

alter table commands add column command_batch_id bigint;

create function batch_error_of(status text, error_chain jsonb, reason text) returns text
language sql immutable as $$
  select case
    when status in ('Error', 'CommandFormatError') then left(coalesce(
      (error_chain -> 0 ->> 'ErrorDomain') || ' ' || (error_chain -> 0 ->> 'ErrorCode'), status), 200)
    when status = 'Expired' then left(coalesce(reason, status), 200)
  end
$$;

create function note_batch_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into command_batch_changes (command_batch_id, command_id, from_status, to_status)
    values (old.command_batch_id, old.id, old.status, 'Cancelled');
  else
    insert into command_batch_changes (command_batch_id, command_id, from_status, to_status,
      from_error, to_error, message)
    values (new.command_batch_id, new.id, old.status, new.status,
      batch_error_of(old.status, old.error_chain, old.reason),
      batch_error_of(new.status, new.error_chain, new.reason),
      left(coalesce(new.error_chain -> 0 ->> 'USEnglishDescription',
        new.error_chain -> 0 ->> 'LocalizedDescription', new.reason), 500));
  end if;
  return null;
end $$;

create trigger commands_of_batches after update on commands
for each row when (new.command_batch_id is not null and old.status <> new.status)
execute function note_batch_change();
create trigger commands_of_batches_deleted after delete on commands
for each row when (old.command_batch_id is not null
  and old.status in ('Queued', 'Sent', 'NotNow'))
execute function note_batch_change();

create view command_batch_states as
select b.id, b.uuid, b.name, b.request_type, b.parameters, b.profile_id, b.priority, b.ttl, b.after,
  b.expires_at, b.spread, b.filter, b.retry_of_id, r.id as retried_by_id, b.state, b.created_by,
  b.created_at, b.expanded_at, b.finished_at,
  jsonb_build_object('matched', b.matched, 'eligible', b.eligible, 'reduced', b.reduced,
    'left_out', b.left_out, 'refused', b.refused) as targets,
  jsonb_build_object(
    'Queued', b.queued + coalesce(c.queued, 0),
    'Sent', b.sent + coalesce(c.sent, 0),
    'NotNow', b.not_now + coalesce(c.not_now, 0),
    'Acknowledged', b.acknowledged + coalesce(c.acknowledged, 0),
    'Error', b.error + coalesce(c.error, 0),
    'CommandFormatError', b.command_format_error + coalesce(c.command_format_error, 0),
    'Expired', b.expired + coalesce(c.expired, 0),
    'Cancelled', b.cancelled + coalesce(c.cancelled, 0)) as counts,
  coalesce((
    select jsonb_agg(jsonb_build_object('status', f.status, 'error', f.error, 'message', f.message,
      'count', f.count, 'commands', to_jsonb(f.command_ids)) order by f.count desc, f.error)
    from (
      select * from command_batch_failures f where f.command_batch_id = b.id and f.count > 0
      order by f.count desc, f.error limit 100
    ) f), '[]') as failures
from command_batches b
left join command_batches r on r.retry_of_id = b.id
left join lateral (
  select sum(n) filter (where status = 'Queued') as queued,
    sum(n) filter (where status = 'Sent') as sent,
    sum(n) filter (where status = 'NotNow') as not_now,
    sum(n) filter (where status = 'Acknowledged') as acknowledged,
    sum(n) filter (where status = 'Error') as error,
    sum(n) filter (where status = 'CommandFormatError') as command_format_error,
    sum(n) filter (where status = 'Expired') as expired,
    sum(n) filter (where status = 'Cancelled') as cancelled
  from (
    select from_status as status, -1 as n from command_batch_changes where command_batch_id = b.id
    union all
    select to_status, 1 from command_batch_changes where command_batch_id = b.id
  ) s
) c on true`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
drop view command_batch_states;
drop trigger commands_of_batches on commands;
drop trigger commands_of_batches_deleted on commands;
drop function note_batch_change();
drop function batch_error_of(text, jsonb, text);
alter table commands drop column command_batch_id;
drop table command_batch_failures, command_batch_changes, command_batch_device_groups, command_batch_tags,
  command_batch_devices, command_batch_slices, command_batches`);
}
