import type pg from 'pg';
import type { Database } from '../connection/database.js';
import { LEFT_OUT, quoted } from './backup-tables.js';

/** The state of the database that a restore would write to. */
export interface Target {
  /** The first row or relation that a new installation would not have; undefined: there is none. */
  content: string | undefined;
  /** Migrated, as `muster migrate` or an interrupted restore leaves it. */
  isMigrated: boolean;
}

/**
 * `isState`: single-row tables of server state, without ids and foreign keys. Migrations insert their rows;
 * a later change of one is recorded in an audit event.
 */
const RELATIONS = `
select c.relname as name, c.relkind as kind,
  not exists (select from pg_attribute a where a.attrelid = c.oid and a.attidentity <> '')
    and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'f')
    as "isState"
from pg_class c
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
  and not exists (
    select from pg_depend d where d.objid = c.oid and d.deptype in ('e', 'i', 'a')
      and d.classid = 'pg_class'::regclass)
order by c.relname`;

interface Relation {
  name: string;
  kind: string;
  isState: boolean;
}

/** Reads only. */
export async function inspectTarget({ pool }: Database): Promise<Target> {
  const { rows } = await pool.query<Relation>(RELATIONS);
  const isMigrated = rows.some(({ name }) => name === 'knex_migrations');
  if (!isMigrated) {
    const [first] = rows;
    return { isMigrated, content: first && `there is ${first.name}` };
  }
  const leftOut: readonly string[] = LEFT_OUT;
  for (const { name, kind, isState } of rows) {
    if (kind !== 'r' || isState || leftOut.includes(name)) continue;
    if (await hasRows(pool, name)) return { isMigrated, content: `the table ${name} has rows` };
  }
  return { isMigrated, content: undefined };
}

async function hasRows(pool: pg.Pool, table: string): Promise<boolean> {
  const { rowCount } = await pool.query(`select from public.${quoted(table)} limit 1`);
  return rowCount !== 0;
}

/** False of a schema that was reverted, as a restore that failed leaves it. */
export async function canHaveProcesses({ pool }: Database): Promise<boolean> {
  const text = "select from pg_class where oid = to_regclass('public.server_processes')";
  return (await pool.query(text)).rowCount === 1;
}
