import type { Knex } from 'knex';

/** Push certificates, including those that must be renewed before use. */
const CERTIFICATES = `certificates where purpose = 'mdm.pushcert' and revoked_at is null`;

/**
 * SQL: whether no stored push certificate has this topic, though there are some. A device keeps its
 * topic for good, since Apple refuses a profile that changes the topic of an enrollment.
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

/** In the order of ids, so that no step reads rows that an earlier one has changed. */
export interface Step {
  /** Last id of the step before; 0 at first. */
  after: number;
  limit: number;
}

export interface StepResult {
  count: number;
  /** The last id; null at the end. */
  last: number | null;
}

const MARK = `
with marked as (
  update devices set push_state = 'topic_mismatch'
  where id in (
    select id from devices
    where is_enrolled and topic = :topic and push_state = 'ok' and id > :after
    order by id limit :limit for no key update)
  returning id
)
select count(*)::integer as count, max(id) as last from marked`;

/** Marks enrolled devices of a topic without a certificate. */
export async function markMismatches(knex: Knex, topic: string, step: Step): Promise<StepResult> {
  return await runStep(knex, MARK, { topic, ...step });
}

// A device that could not be pushed has no row in device_pushes: it gets one if commands are queued.
const CLEAR = `
with cleared as (
  update devices set push_state = 'ok'
  where id in (
    select id from devices
    where is_enrolled and push_state <> 'ok' and push_state = 'topic_mismatch'
      and (topic = any(:topics::text[]) or cardinality(:topics::text[]) = 0) and id > :after
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
select count(*)::integer as count, max(id) as last from cleared`;

/** Clears the state of devices whose topic has a certificate now. */
export async function clearMismatches(
  knex: Knex,
  topics: readonly string[],
  step: Step,
): Promise<StepResult> {
  return await runStep(knex, CLEAR, { topics: [...topics], ...step });
}

async function runStep(
  knex: Knex,
  text: string,
  bindings: Record<string, string | string[] | number>,
): Promise<StepResult> {
  const { rows } = await knex.raw<{ rows: StepResult[] }>(text, bindings);
  return rows[0] ?? { count: 0, last: null };
}
