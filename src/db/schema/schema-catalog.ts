import type { Database } from '../connection/database.js';
import type { Effect } from './statement-effects.js';

interface ForeignKey {
  name: string;
  table: string;
  columns: string[];
  referenced: string;
}

/** What a plan has to know of the tables that are there. */
export interface SchemaCatalog {
  /** As server_version_num: 180004 is 18.4. */
  serverVersion: number;
  /** PostgreSQL's estimate by table. */
  rows: Map<string, number>;
  tableOfIndex: Map<string, string>;
  foreignKeys: ForeignKey[];
}

const VERSION = `select current_setting('server_version_num')::integer as version`;

const ROWS = `
select c.relname as name, greatest(c.reltuples, s.n_live_tup)::float8 as rows
from pg_class c join pg_stat_user_tables s on s.relid = c.oid
where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace`;

const INDEXES = `
select indexname as name, tablename as "table" from pg_indexes where schemaname = current_schema()`;

const FOREIGN_KEYS = `
select k.conname as name, t.relname as "table", r.relname as referenced,
  array(select a.attname::text from pg_attribute a
    where a.attrelid = k.conrelid and a.attnum = any (k.conkey)) as columns
from pg_constraint k join pg_class t on t.oid = k.conrelid join pg_class r on r.oid = k.confrelid
where k.contype = 'f' and k.connamespace = current_schema()::regnamespace`;

/** Reads nothing but the catalogs. */
export async function readCatalog({ background }: Database): Promise<SchemaCatalog> {
  const counted = await background.query<{ name: string; rows: number }>(ROWS);
  const indexes = await background.query<{ name: string; table: string }>(INDEXES);
  const keys = await background.query<ForeignKey>(FOREIGN_KEYS);
  const versions = await background.query<{ version: number }>(VERSION);
  return {
    serverVersion: versions.rows[0]?.version ?? 0,
    rows: new Map(counted.rows.map(({ name, rows }) => [name, rows])),
    tableOfIndex: new Map(indexes.rows.map(({ name, table }) => [name, table])),
    foreignKeys: keys.rows,
  };
}

/** Adds what a statement does not name: the table of an index, and those that a foreign key refers to. */
export function completed(effect: Effect, catalog: SchemaCatalog): Effect[] {
  const { kind, name, table } = effect;
  if (kind === 'drops the index') {
    // `if exists`: only a build that was interrupted has left one behind.
    const indexed = catalog.tableOfIndex.get(name);
    return indexed === undefined ? [] : [{ ...effect, table: indexed }];
  }
  const dropped = catalog.foreignKeys.filter((key) => {
    if (key.table !== table) return false;
    if (kind === 'drops the column') return key.columns.includes(name);
    return kind === 'drops the table' || (kind === 'drops the constraint' && key.name === name);
  });
  const unreferenced = dropped.map(({ referenced }): Effect => {
    return { ...effect, kind: 'no longer refers to', name: '', table: referenced };
  });
  return [effect, ...unreferenced];
}
