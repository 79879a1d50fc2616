import type { Knex } from 'knex';

export interface TopicCount {
  topic: string;
  count: number;
}

/** Counting stops here: beyond it the exact number does not matter. */
export const COUNTED_AT_MOST = 10_000;

// Steps through the index from one topic to the next: there are few topics and many devices.
const TOPICS = `
with recursive topics as (
  (select topic from devices where is_enrolled and topic is not null order by topic limit 1)
  union all
  select (select d.topic from devices d where d.is_enrolled and d.topic > t.topic
    order by d.topic limit 1)
  from topics t where t.topic is not null
)`;

const TOPICS_WITHOUT = `${TOPICS}
select t.topic, n.count
from topics t cross join lateral (
  select count(*) from (
    select from devices d where d.is_enrolled and d.topic = t.topic limit ?
  ) as counted
) as n
where t.topic is not null and t.topic <> all(?::text[])
order by n.count desc, t.topic limit 20`;

const REFUSED = `
select count(*) from (
  select from devices
  where is_enrolled and push_state <> 'ok' and push_state <> 'topic_mismatch' limit ?
) as counted`;

/** The topics that devices are enrolled with. */
export async function listEnrolledTopics(knex: Knex): Promise<string[]> {
  const text = `${TOPICS} select topic from topics where topic is not null`;
  const { rows } = await knex.raw<{ rows: { topic: string }[] }>(text);
  return rows.map(({ topic }) => topic);
}

/** Enrolled devices per topic, without `topics`; the topic with the most devices first. */
export async function countDevicesOfOtherTopics(
  knex: Knex,
  topics: string[],
): Promise<TopicCount[]> {
  const { rows } = await knex.raw<{ rows: TopicCount[] }>(TOPICS_WITHOUT, [
    COUNTED_AT_MOST + 1,
    topics,
  ]);
  return rows;
}

/** Enrolled devices whose token Apple's push service has refused. */
export async function countRefusedDevices(knex: Knex): Promise<number> {
  const { rows } = await knex.raw<{ rows: { count: number }[] }>(REFUSED, [COUNTED_AT_MOST + 1]);
  return rows[0]?.count ?? 0;
}
