import type { Knex } from 'knex';
import type { ResourceShape } from '../../jsonapi/definition/shape.js';
import type { ColumnDefaults } from '../../jsonapi/store.js';
import { runPrepared } from '../connection/prepared-statements.js';
import { quoted } from './text-sql.js';

interface CatalogColumn {
  name: string;
  expression: string | null;
  is_generated: boolean;
}

const COLUMNS = `
select a.attname as name, pg_get_expr(d.adbin, d.adrelid) as expression,
  a.attidentity <> '' or a.attgenerated <> '' as is_generated
from pg_attribute a
left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = ?::regclass and a.attnum > 0 and not a.attisdropped`;

/** As PostgreSQL writes constants: `0`, `true`, `'Queued'::text`. */
const CONSTANT = /^(?:'?-?\d+(?:\.\d+)?'?(?:::[\w ]+)?|true|false|'(?:[^']|'')*'::[\w ]+)$/;

/** Rejects with the driver's error. */
export async function readColumnDefaults(
  knex: Knex,
  { table }: ResourceShape,
): Promise<ColumnDefaults> {
  const bindings = [quoted(table)];
  const all = await runPrepared<CatalogColumn>(knex, { text: COLUMNS, bindings });
  const columns = all.filter((column) => !column.is_generated);
  const constants = columns.flatMap(({ name, expression }) =>
    expression !== null && CONSTANT.test(expression) ? [`${expression} as ${quoted(name)}`] : [],
  );
  const text = `select ${constants.join(', ')}`.replaceAll('?', '\\?');
  const [values] = await runPrepared<Record<string, unknown>>(knex, { text, bindings: [] });
  const empty = columns.filter(({ expression }) => expression === null);
  return {
    values: { ...Object.fromEntries(empty.map(({ name }) => [name, null])), ...values },
    times: columns.filter(({ expression }) => expression === 'now()').map(({ name }) => name),
  };
}

const NEXT_IDS = `
select nextval(pg_get_serial_sequence(?, 'id')) as id, now() as now
from generate_series(1, ?)`;

/** Ids that no row has or gets. */
export async function nextIds(
  knex: Knex,
  { table }: ResourceShape,
  count: number,
): Promise<{ id: number; now: Date }[]> {
  return runPrepared(knex, { text: NEXT_IDS, bindings: [quoted(table), count] });
}
