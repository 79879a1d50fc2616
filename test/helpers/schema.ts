import type { Database } from '../../src/db/connection/database.js';

const COLUMNS = `
  select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
    || case when a.attnotnull then ' not null' else '' end
    || case when a.attidentity = 'a' then ' generated always as identity' else '' end
    || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as line
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
    and c.relname not like 'knex_%'`;

// Newer servers list "not null" among the constraints as well (contype n); the columns say it.
const CONSTRAINTS = `
  select conrelid::regclass::text || ': constraint ' || conname || ' ' || pg_get_constraintdef(oid) as line
  from pg_constraint
  where connamespace = 'public'::regnamespace and contype <> 'n' and conrelid <> 0
    and conrelid::regclass::text not like 'knex_%'`;

const INDEXES = `
  select indexdef as line from pg_indexes
  where schemaname = 'public' and tablename not like 'knex_%'`;

const TRIGGERS = `
  select pg_get_triggerdef(oid) as line from pg_trigger where not tgisinternal`;

// Servers write the text of a view in different ways; what it gives is the same.
const VIEWS = `
  select c.relname || ': view of '
    || string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum)
    as line
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
  where c.relkind = 'v' and c.relnamespace = 'public'::regnamespace
  group by c.relname`;

const STORAGE = `
  select relname || ' with (' || array_to_string(reloptions, ', ') || ')' as line from pg_class
  where relkind = 'r' and relnamespace = 'public'::regnamespace and reloptions is not null`;

/** The schema as text, in an order that does not depend on how it came about. */
export async function dumpSchema(db: Database): Promise<string> {
  const parts: string[] = [];
  for (const query of [COLUMNS, CONSTRAINTS, INDEXES, TRIGGERS, VIEWS, STORAGE]) {
    const sorted = `select line from (${query}) as lines order by line collate "C"`;
    const result = await db.pool.query<{ line: string }>(sorted);
    parts.push(result.rows.map((row) => row.line).join('\n'));
  }
  return `${parts.join('\n\n')}\n`;
}
