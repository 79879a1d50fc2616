import type pg from 'pg';
import type { Database } from '../connection/database.js';
import { LEFT_OUT, quoted } from './backup-tables.js';

/** Tables in which the migrations themselves write rows. */
const SEEDED = ['change_topics', 'health_state', 'reconciler_state', 'smart_group_state'];

/** What a restore may begin with. */
export interface Target {
  /** The first thing in it that is not of an unused Muster; undefined: it is empty. */
  content: string | undefined;
  /** Migrated, as `muster migrate` or an interrupted restore leaves it. */
  isMigrated: boolean;
}

const RELATIONS = `
select c.relname as name, c.relkind as kind from pg_class c
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
  and not exists (
    select from pg_depend d where d.objid = c.oid and d.deptype in ('e', 'i', 'a')
      and d.classid = 'pg_class'::regclass)
order by c.relname`;

/** Reads only. */
export async function inspectTarget({ pool }: Database): Promise<Target> {
  const { rows } = await pool.query<{ name: string; kind: string }>(RELATIONS);
  const isMigrated = rows.some(({ name }) => name === 'knex_migrations');
  if (!isMigrated) {
    const [first] = rows;
    return { isMigrated, content: first && `there is ${first.name}` };
  }
  const unused = [...SEEDED, ...LEFT_OUT];
  for (const { name, kind } of rows) {
    if (kind !== 'r' || unused.includes(name)) continue;
    if (await hasRows(pool, name)) return { isMigrated, content: `the table ${name} has rows` };
  }
  return { isMigrated, content: undefined };
}

async function hasRows(pool: pg.Pool, table: string): Promise<boolean> {
  const { rowCount } = await pool.query(`select from public.${quoted(table)} limit 1`);
  return rowCount !== 0;
}
