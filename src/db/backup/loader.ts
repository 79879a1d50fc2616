import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { JOBS_SCHEMA } from '../jobs/jobs-schema.js';
import { JOBS, NO_LIMITS, quoted, setLocal, TEXT_SETTINGS } from './backup-tables.js';
import type { SequenceValue, TableCopy } from './snapshot.js';

/** Foreign keys first: they need the primary and unique keys of others. */
const CONSTRAINTS = `
select c.relname as table, k.conname as name, pg_get_constraintdef(k.oid) as definition
from pg_constraint k join pg_class c on c.oid = k.conrelid
where k.contype = any('{f,p,u,x}') and c.relnamespace = 'public'::regnamespace and c.relname = any($1)
order by k.contype <> 'f', c.relname, k.conname`;

/**
 * Those of no constraint, and of all rows: building one is much faster than adding row after row. Those of few
 * rows stay, since building one reads all rows.
 */
const INDEXES = `
select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
from pg_index i join pg_class c on c.oid = i.indrelid
where c.relnamespace = 'public'::regnamespace and c.relname = any($1)
  and i.indpred is null and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
order by i.indexrelid`;

/** Bytes of rows to read ahead, so that neither the reader nor PostgreSQL waits. */
const AHEAD_BYTES = 1024 * 1024;

interface Definition {
  name: string;
  definition: string;
}

interface Constraint extends Definition {
  table: string;
}

/** The tables of a database while a backup is loaded, in the caller's transaction. */
export class Loader {
  readonly #client: pg.ClientBase;
  readonly #tables: string[];
  #constraints: Constraint[] = [];
  #indexes: Definition[] = [];

  /** `tables`: all of the database but those that are no part of a backup. */
  constructor(client: pg.ClientBase, tables: string[]) {
    this.#client = client;
    this.#tables = tables;
  }

  /**
   * Empties the tables, and drops or disables what would run for each row: triggers, constraints with an index,
   * foreign keys, indexes. The owner of the tables may do that; `session_replication_role` needs a superuser.
   */
  async begin(): Promise<void> {
    const client = this.#client;
    await client.query(
      setLocal({ ...NO_LIMITS, ...TEXT_SETTINGS, maintenance_work_mem: "'256MB'" }),
    );
    const all = this.#tables.map((name) => `public.${quoted(name)}`);
    await client.query(`truncate ${all.join(', ')}`);
    this.#constraints = await this.#read(CONSTRAINTS);
    this.#indexes = await this.#read(INDEXES);
    for (const { table, name } of this.#constraints) {
      await client.query(`alter table public.${quoted(table)} drop constraint ${quoted(name)}`);
    }
    for (const { name } of this.#indexes) await client.query(`drop index ${name}`);
    for (const table of all) await client.query(`alter table ${table} disable trigger user`);
    await client.query(
      `create temporary table restored_jobs on commit drop as
      select id, ''::text as task, payload, priority, run_at, attempts, max_attempts, last_error,
        created_at, updated_at, key, revision, flags
      from ${JOBS_SCHEMA}._private_jobs with no data`,
    );
  }

  async #read<Row extends Definition>(text: string): Promise<Row[]> {
    return (await this.#client.query<Row>(text, [this.#tables])).rows;
  }

  /** Returns how many rows there were. */
  async copyIn({ name, columns, rowFormat }: TableCopy, rows: Readable): Promise<number> {
    const list = columns.map(quoted).join(', ');
    const isJobs = name === JOBS.name;
    const table = isJobs ? 'restored_jobs' : `public.${quoted(name)}`;
    // Frozen: no other transaction can have read a table that this one has emptied. The jobs are copied once more.
    const options = `format ${rowFormat}${isJobs ? '' : ', freeze'}`;
    const stream = this.#client.query(
      copyFrom(`copy ${table} (${list}) from stdin (${options})`, { highWaterMark: AHEAD_BYTES }),
    );
    await pipeline(rows, stream);
    return stream.rowCount;
  }

  /** Restores what `begin` dropped and disabled. Adding the foreign keys checks every reference. */
  async finish(sequences: readonly SequenceValue[]): Promise<void> {
    const client = this.#client;
    await client.query(ADD_TASKS);
    await client.query(ADD_JOBS);
    for (const { definition } of this.#indexes) await client.query(definition);
    for (const { table, name, definition } of this.#constraints.toReversed()) {
      const constraint = `add constraint ${quoted(name)} ${definition}`;
      await client.query(`alter table public.${quoted(table)} ${constraint}`);
    }
    for (const table of this.#tables) {
      await client.query(`alter table public.${quoted(table)} enable trigger user`);
    }
    for (const { name, last_value } of sequences) {
      const text = "select setval(format('public.%I', $1::text)::regclass, $2::bigint)";
      await client.query(text, [name, last_value]);
    }
  }
}

const ADD_TASKS = `
insert into ${JOBS_SCHEMA}._private_tasks (identifier)
select distinct task from restored_jobs on conflict do nothing`;

const ADD_JOBS = `
with added as (
  insert into ${JOBS_SCHEMA}._private_jobs (id, task_id, payload, priority, run_at, attempts,
    max_attempts, last_error, created_at, updated_at, key, revision, flags)
  overriding system value
  select j.id, t.id, j.payload, j.priority, j.run_at, j.attempts, j.max_attempts, j.last_error,
    j.created_at, j.updated_at, j.key, j.revision, j.flags
  from restored_jobs j join ${JOBS_SCHEMA}._private_tasks t on t.identifier = j.task
  returning id
)
select setval(pg_get_serial_sequence('${JOBS_SCHEMA}._private_jobs', 'id'), max(id))
from added having count(*) > 0`;
