import type { Knex } from 'knex';

/** Push certificates that count, whether they can be used now or have to be renewed first. */
const CERTIFICATES = `certificates where purpose = 'mdm.pushcert' and revoked_at is null`;

/**
 * SQL: whether nobody can push to a topic: there are push certificates, and none has it. Apple refuses
 * a profile that changes the topic of an enrollment, so the device keeps it.
 */
export function isMismatch(topic: string): string {
  return `(exists (select from ${CERTIFICATES})
      and not exists (select from ${CERTIFICATES} and push_topic = ${topic}))`;
}

export async function listPushTopics(knex: Knex): Promise<string[]> {
  const { rows } = await knex.raw<{ rows: { topic: string }[] }>(
    `select distinct push_topic as topic from ${CERTIFICATES} and push_topic is not null`,
  );
  return rows.map(({ topic }) => topic);
}

const MARK = `
update devices set push_state = 'topic_mismatch'
where id in (
  select id from devices where is_enrolled and topic = ? and push_state = 'ok'
  order by id limit ? for no key update)`;

/** Enrolled devices of a topic without a certificate, at most so many. Returns how many. */
export async function markMismatches(knex: Knex, topic: string, limit: number): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(MARK, [topic, limit]);
  return rowCount;
}

// A device that could not be pushed has no row in device_pushes: it gets one for what waits for it.
const CLEAR = `
with cleared as (
  update devices set push_state = 'ok'
  where id in (
    select id from devices
    where is_enrolled and push_state <> 'ok' and push_state = 'topic_mismatch'
      and (topic = any(:topics::text[]) or cardinality(:topics::text[]) = 0)
    order by id limit :limit for no key update)
  returning id
), pushed as (
  insert into device_pushes (device_id, due_at)
  select id, now() + random() * interval '1 minute' from cleared
  where exists (select from commands c
    where c.device_id = cleared.id and c.is_pending and c.device_user_id is null)
  order by id
  on conflict (device_id) do nothing
)
select count(*)::integer as count from cleared`;

/** Devices whose topic has a certificate by now, at most so many. Returns how many. */
export async function clearMismatches(
  knex: Knex,
  topics: readonly string[],
  limit: number,
): Promise<number> {
  const bindings = { topics: [...topics], limit };
  const { rows } = await knex.raw<{ rows: { count: number }[] }>(CLEAR, bindings);
  return rows[0]?.count ?? 0;
}
