import type { Knex } from 'knex';

const UP = `
-- The place of a device in the rollouts of an item, from 0 to 9999: devices below 100 times the percent
-- of a stage belong to it. SHA-256, since its result is the same on every version, platform and
-- configuration of PostgreSQL, which holds neither of its own hash functions nor of MD5 (FIPS mode).
create function rollout_position(device bigint, profile bigint) returns integer
language sql immutable parallel safe
return (('x' || encode(substring(sha256(int8send(device) || int8send(profile)) for 4), 'hex'))
  ::bit(32)::bigint % 10000)::integer;

-- How a version of an item comes to its devices by and by. While one is running or halted, it decides
-- which of two versions a device gets.
create table rollouts (
  id bigint generated always as identity primary key,
  profile_id bigint not null references profiles on delete cascade,
  version integer not null,
  former_version integer not null,
  first_tag_id bigint references tags on delete set null,
  -- [{"percent": 5, "soak_minutes": 60}, …]
  stages jsonb not null,
  halt_at jsonb not null,
  state text not null default 'running'
    check (state in ('running', 'halted', 'rolled_back', 'finished')),
  reason text,
  -- From 1.
  stage integer not null default 1,
  stage_started_at timestamptz not null default now(),
  -- Devices whose position is lower belong to the stage.
  threshold integer not null
    generated always as (((stages -> (stage - 1) ->> 'percent')::numeric * 100)::integer) stored,
  -- Failures count from here: since the start, or since it was resumed.
  counted_from timestamptz not null default now(),
  devices integer not null default 0,
  verified integer not null default 0,
  failed integer not null default 0,
  created_at timestamptz not null default now(),
  ended_at timestamptz
);
create unique index rollouts_open on rollouts (profile_id) where state in ('running', 'halted');
create index rollouts_profile on rollouts (profile_id, id);
create index rollouts_first_tag on rollouts (first_tag_id) where first_tag_id is not null;

create function mark_rollout() returns trigger language plpgsql as $$
begin
  insert into reconcile_item_marks (profile_id) values (coalesce(new.profile_id, old.profile_id));
  return null;
end $$;
create trigger rollouts_changed after update on rollouts for each row
  when (new.state <> old.state or new.threshold <> old.threshold
    or new.first_tag_id is distinct from old.first_tag_id)
  execute function mark_rollout();
create trigger rollouts_added_or_deleted after insert or delete on rollouts for each row
  execute function mark_rollout();
`;

const DOWN = `
drop table rollouts;
drop function mark_rollout;
drop function rollout_position;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
