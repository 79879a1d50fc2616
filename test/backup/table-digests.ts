import { LEFT_OUT, SELECT_JOBS } from '../../src/db/backup/backup-tables.js';
import type { Database } from '../../src/db/connection/database.js';

/** Of every table that a backup has: how many rows, and a digest of them in a fixed order. */
export async function tableDigests({ pool }: Database): Promise<Record<string, string>> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> all($1)
     order by relname`,
    [[...LEFT_OUT]],
  );
  const digests: Record<string, string> = {};
  for (const { name } of tables) digests[name] = await digestOf(pool, `select * from "${name}"`);
  digests.jobs = await digestOf(pool, SELECT_JOBS);
  return digests;
}

async function digestOf(pool: Database['pool'], query: string): Promise<string> {
  const { rows } = await pool.query<{ digest: string }>(
    `select count(*) || ' rows ' || coalesce(md5(string_agg(t::text, E'\\n' order by t::text collate "C")), '')
       as digest
     from (${query}) t`,
  );
  return rows[0]?.digest ?? '';
}

/** The values that the next rows get. */
export async function sequenceValues({ pool }: Database): Promise<Record<string, number | null>> {
  const { rows } = await pool.query<{ name: string; value: number | null }>(
    `select sequencename::text as name, last_value as value from pg_sequences
     where schemaname = 'public' and sequencename not like 'knex%' order by 1`,
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}
