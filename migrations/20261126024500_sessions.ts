import type { Knex } from 'knex';

const UP = `
-- A browser that has signed in. It acts as its token, and ends with it.
create table sessions (
  id bigint primary key generated always as identity,
  -- null: ADMIN_TOKEN of the environment.
  token_id bigint references tokens (id) on delete cascade,
  -- What the cookie is looked up by: SHA-256, keyed with ADMIN_TOKEN where that signed in.
  secret_hash bytea not null unique,
  created_at timestamptz not null default now(),
  authenticated_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  idle_ends_at timestamptz not null,
  ends_at timestamptz not null,
  user_agent text,
  ip_address text
);
create index sessions_token on sessions (token_id);
create index sessions_ends on sessions (least(idle_ends_at, ends_at));

create view current_sessions as
select s.id, s.token_id, coalesce(t.name, 'ADMIN_TOKEN') as name, coalesce(t.role, 'admin') as role,
  s.created_at, s.authenticated_at, s.last_used_at, s.idle_ends_at, s.ends_at, s.user_agent, s.ip_address
from sessions s left join tokens t on t.id = s.token_id
where s.ends_at > now() and s.idle_ends_at > now()
  and t.revoked_at is null and (t.expires_at is null or t.expires_at > now());

insert into change_topics (topic) values ('sessions');
create trigger sessions_delete after delete on sessions
  for each row execute function note_change('sessions');

-- The session by which an admin acted; null: a program with a token, or the server itself.
alter table audit_events add column session_id bigint;
`;

const DOWN = `
alter table audit_events drop column session_id;
drop view current_sessions;
drop table sessions;
delete from change_topics where topic = 'sessions';
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
