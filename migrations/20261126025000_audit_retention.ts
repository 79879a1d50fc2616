import type { Knex } from 'knex';

const UP = `
-- The one row that all processes share: since when admins can know that old events will be removed.
create table audit_retention (
  id boolean primary key default true check (id),
  -- Milliseconds; null: nothing was announced yet.
  announced_age bigint,
  announced_at timestamptz
);
insert into audit_retention default values;

-- Only remove_old_audit_events names the moment before which events may go, and none of the last 30 days
-- goes whatever is named.
create or replace function audit_events_refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and old.at < now() - interval '30 days'
    and old.at < nullif(current_setting('muster.audit_removal_before', true), '')::timestamptz then
    return old;
  end if;
  raise exception 'audit_events is append-only';
end $$;

-- Removes the oldest events before the cutoff, at most so many, and returns how many. The first call with a
-- cutoff appends an event that says what goes.
create function remove_old_audit_events(cutoff timestamptz, most integer) returns integer
language plpgsql as $$
declare
  shown text := to_char(cutoff at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');
  found bigint;
  removed integer;
begin
  if not exists (select from audit_events where at < cutoff) then
    return 0;
  end if;
  if not exists (
    select from audit_events where at > now() - interval '2 days'
      and action = 'audit_events.remove' and details ->> 'before' = shown
  ) then
    select count(*) into found from audit_events where at < cutoff;
    insert into audit_events (actor, role, action, target_type, request_id, details)
    values ('system', 'system', 'audit_events.remove', 'audit_events', gen_random_uuid()::text,
      jsonb_build_object('before', shown, 'removed', found));
  end if;
  perform set_config('muster.audit_removal_before', cutoff::text, true);
  delete from audit_events
  where id in (select id from audit_events where at < cutoff order by at, id limit most);
  get diagnostics removed = row_count;
  perform set_config('muster.audit_removal_before', '', true);
  return removed;
end $$`;

const DOWN = `
drop function remove_old_audit_events(timestamptz, integer);
create or replace function audit_events_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit_events is append-only';
end $$;
drop table audit_retention`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
