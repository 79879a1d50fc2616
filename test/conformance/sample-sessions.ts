import type { Knex } from 'knex';

/** Sessions of a token each; the third has no value that it can lack. Two more tokens are revoked. */
const SAMPLES = `
with token as (
  insert into tokens (name, role, token_hash, created_at, expires_at, last_used_at, revoked_at)
  select 'name 10%_' || n, case n % 3 when 0 then 'viewer' when 1 then 'operator' else 'admin' end,
    sha256(('token ' || n)::bytea), '2026-03-10T01:02:03.05Z'::timestamptz + n * interval '1 day',
    case when n <> 2 then '2126-03-10T01:02:03.15Z'::timestamptz + n * interval '1 day' end,
    case when n <> 2 then '2026-03-11T01:02:03.25Z'::timestamptz + n * interval '1 day' end,
    case when n > 4 then '2026-03-12T01:02:03.35Z'::timestamptz + n * interval '1 day' end
  from generate_series(0, 6) as n
  returning id, right(name, 1)::int as n
)
insert into sessions (token_id, secret_hash, created_at, authenticated_at, last_used_at, idle_ends_at,
  ends_at, user_agent, ip_address)
select id, sha256(('session ' || n)::bytea), '2026-03-10T01:02:03.05Z'::timestamptz + n * interval '1 day',
  '2026-03-11T01:02:03.15Z'::timestamptz + n * interval '1 day',
  '2026-03-12T01:02:03.25Z'::timestamptz + n * interval '1 day',
  '2126-03-10T01:02:03.35Z'::timestamptz + n * interval '1 day',
  '2126-04-10T01:02:03.45Z'::timestamptz + n * interval '1 day',
  case when n <> 2 then 'user_agent 10%_' || n end, case when n <> 2 then '192.0.2.' || n end
from token
where n <= 4
order by n`;

/** The table of sessions is a view, and only a sign-in makes one. One of them has done something. */
export async function seedSessions(knex: Knex): Promise<void> {
  await knex.raw(SAMPLES);
  await knex('audit_events').insert({
    ...{ actor: 'name 10%_0', role: 'viewer', action: 'sessions.create', target_type: 'sessions' },
    ...{ request_id: 'request-0', session_id: 1 },
  });
}
