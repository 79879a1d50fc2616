import type { Knex } from 'knex';

const UP = `
-- Devices to be pushed: at most one row each, which is what coalesces pushes. It is due at due_at; a
-- claim moves due_at on, so that the row of a process that died is due again by itself. requested_at
-- after claimed_at: something was queued while the push was under way, so another one follows.
create table device_pushes (
  device_id bigint primary key references devices (id) on delete cascade,
  due_at timestamptz not null,
  requested_at timestamptz not null default clock_timestamp(),
  claimed_at timestamptz,
  attempts integer not null default 0
) with (fillfactor = 70);
create index device_pushes_due on device_pushes (due_at);
-- What was queued before there were pushes; spread, so that not all devices come at once.
insert into device_pushes (device_id, due_at)
select d.id, now() + random() * interval '5 minutes'
from devices d
where d.is_enrolled and d.sealed_push is not null and d.push_state = 'ok'
  and exists (select from commands c where c.device_id = d.id and c.is_pending);
-- Commands that wait for their time: when their device is to be pushed for them.
create index commands_after on commands (device_id, after) where after is not null and is_pending;

-- Topics that Apple's push service refuses for a reason that lies in their certificate.
create table push_topics (
  topic text primary key,
  blocked_reason text not null,
  blocked_at timestamptz not null default now(),
  retry_at timestamptz not null
);

-- How the last push of each device ended: delivered, a reason of Apple's, or one of our own.
alter table devices add column last_push_result text;
alter table devices add column inventory_queued_at timestamptz;
create index devices_inventory_due on devices (coalesce(inventory_queued_at, enrolled_at))
  where is_enrolled;
-- Who is affected when a topic has no certificate, and whom the push service has refused.
create index devices_topic on devices (topic) where is_enrolled;
create index devices_push_refused on devices (id) where is_enrolled and push_state <> 'ok';

-- The processes of this server, by their heartbeat.
create table server_processes (
  id text primary key,
  role text not null check (role in ('all', 'web', 'worker')),
  hostname text not null,
  pid integer not null,
  version text not null,
  -- What its jobs are locked by; null when it runs none, or when they have been taken from it.
  worker_pool text,
  -- Why it cannot push, and since when.
  push_trouble text,
  push_trouble_since timestamptz,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);

-- What processes keep in memory: each change raises the version of its topic and is announced. A
-- process that missed the announcement sees the version.
create table change_topics (
  topic text primary key,
  version bigint not null default 0
);
insert into change_topics (topic)
values ('authorities'), ('push_certificates'), ('push_topics'), ('tokens');

create function note_change() returns trigger language plpgsql as $$
begin
  update change_topics set version = version + 1 where topic = tg_argv[0];
  perform pg_notify('muster', tg_argv[0]);
  return null;
end $$;

create trigger tokens_change after update of revoked_at, expires_at, role on tokens
  for each row execute function note_change('tokens');
create trigger tokens_delete after delete on tokens
  for each row execute function note_change('tokens');

-- By row and with conditions, so that certificates of devices, issued in storms, cost nothing.
create trigger authorities_insert after insert on certificates
  for each row when (new.purpose = 'mdm.cacert') execute function note_change('authorities');
create trigger authorities_update after update on certificates
  for each row when (new.purpose = 'mdm.cacert' or old.purpose = 'mdm.cacert')
  execute function note_change('authorities');
create trigger authorities_delete after delete on certificates
  for each row when (old.purpose = 'mdm.cacert') execute function note_change('authorities');
create trigger scep_change after insert or update or delete on scep_configurations
  for each row execute function note_change('authorities');
create trigger push_certificates_insert after insert on certificates
  for each row when (new.purpose = 'mdm.pushcert') execute function note_change('push_certificates');
create trigger push_certificates_update after update on certificates
  for each row when (new.purpose = 'mdm.pushcert' or old.purpose = 'mdm.pushcert')
  execute function note_change('push_certificates');
create trigger push_certificates_delete after delete on certificates
  for each row when (old.purpose = 'mdm.pushcert')
  execute function note_change('push_certificates');
create trigger push_topics_change after insert or update or delete on push_topics
  for each row execute function note_change('push_topics');
`;

const DOWN = `
drop trigger push_topics_change on push_topics;
drop trigger push_certificates_delete on certificates;
drop trigger push_certificates_update on certificates;
drop trigger push_certificates_insert on certificates;
drop trigger scep_change on scep_configurations;
drop trigger authorities_delete on certificates;
drop trigger authorities_update on certificates;
drop trigger authorities_insert on certificates;
drop trigger tokens_delete on tokens;
drop trigger tokens_change on tokens;
drop function note_change();
drop table change_topics;
drop table server_processes;
drop index devices_push_refused;
drop index devices_topic;
drop index devices_inventory_due;
alter table devices drop column inventory_queued_at;
alter table devices drop column last_push_result;
drop table push_topics;
drop index commands_after;
drop table device_pushes;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
