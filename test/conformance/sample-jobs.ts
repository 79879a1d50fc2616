import type { Knex } from 'knex';

/** One job of each status, as the queue keeps them; the last one has no value that it can lack. */
const SAMPLES = `
with task as (
  insert into graphile_worker._private_tasks (identifier)
  select 'task 10%_' || n from generate_series(0, 4) as n returning id, identifier
)
insert into graphile_worker._private_jobs
  (task_id, payload, priority, run_at, attempts, max_attempts, last_error, key, locked_at, locked_by)
select task.id, '{"secret":"of the task"}', n, run_at::timestamptz, attempts, 25, last_error, key,
  locked_at::timestamptz, locked_by
from task join (values
  (0, '2026-03-10T01:02:03.05Z', 1, null, 'key 10%_0', '2026-03-10T02:03:04.05Z', 'pool 10%_0'),
  (1, '2026-03-11T01:02:03.15Z', 1, 'last_error 10%_1', 'key 10%_1', null, null),
  (2, '2026-03-12T01:02:03.25Z', 0, null, null, null, null),
  (3, '2036-03-13T01:02:03.35Z', 0, null, 'key 10%_3', null, null),
  (4, '2026-03-14T01:02:03.45Z', 25, 'last_error 10%_4', 'key 10%_4', null, null)
) as sample (n, run_at, attempts, last_error, key, locked_at, locked_by)
on task.identifier = 'task 10%_' || n
order by n`;

/** The table of jobs is a view, and nobody but the queue makes jobs. */
export async function seedJobs(knex: Knex): Promise<void> {
  await knex.raw(SAMPLES);
}
