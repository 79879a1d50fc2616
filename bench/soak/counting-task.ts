import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../src/db/connection/database.js';
import type { Task } from '../../src/jobs/task.js';

export interface Numbered {
  n: number;
}

export const RUNS_TABLE = `
create table if not exists soak_runs (
  n integer not null,
  pid integer not null,
  began_at timestamptz not null,
  ended_at timestamptz not null default clock_timestamp()
)`;

function parse(payload: unknown): Numbered {
  const { n } = payload as Partial<Numbered>;
  if (typeof n !== 'number') throw new Error('not a number');
  return { n };
}

/** Notes each run of a job once it is over; a process that is killed meanwhile notes nothing. */
export function createCountingTask(db: Pick<Database, 'background'>, ms: number): Task<Numbered> {
  return {
    name: 'soak.count',
    parse,
    async run({ n }) {
      const beganAt = new Date();
      await sleep(ms);
      await db.background.query('insert into soak_runs (n, pid, began_at) values ($1, $2, $3)', [
        ...[n, process.pid],
        beganAt,
      ]);
    },
  };
}
