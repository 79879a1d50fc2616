import type { Database } from '../../../src/db/connection/database.js';

export interface DumpedTable {
  name: string;
  /**
   * Each row as text, bytes in hexadecimal, and again as the text they may be, without its spaces.
   */
  lines: string[];
}

async function tables({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
  );
  return rows.map(({ name }) => name);
}

function bytesIn(line: string): string {
  const bytes = [...line.matchAll(/\\\\x([0-9a-f]+)/g)].map(([, hex = '']) =>
    Buffer.from(hex, 'hex'),
  );
  return bytes.map((text) => `\n${text.toString('latin1').replace(/\s+/g, '')}`).join('');
}

/** Every table of the database as text, including the job queue. */
export async function dumpDatabase(db: Database): Promise<DumpedTable[]> {
  const dump: DumpedTable[] = [];
  for (const name of await tables(db)) {
    const { rows } = await db.pool.query<{ line: string }>(`select t::text as line from ${name} t`);
    dump.push({ name, lines: rows.map(({ line }) => line + bytesIn(line)) });
  }
  return dump;
}

/** The columns of a dump with sealed values, as `table.column`, in any encoding of the bytes. */
export async function findSealed(db: Database): Promise<string[]> {
  const { rows: columns } = await db.pool.query<{ table: string; column: string }>(
    `select format('%I.%I', table_schema, table_name) as table, quote_ident(column_name) as column
     from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'
       and data_type in ('bytea', 'text', 'character varying', 'json', 'jsonb')`,
  );
  const found: string[] = [];
  for (const { table, column } of columns) {
    const { rowCount } = await db.pool.query(
      `select from ${table} where ${column}::text ~ '4d534231|MSB1|TVNCM[Q-Za-f]' limit 1`,
    );
    if (rowCount) found.push(`${table.replace(/^public\./, '')}.${column}`);
  }
  return found.sort((one, other) => (one < other ? -1 : 1));
}
