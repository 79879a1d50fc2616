import type pg from 'pg';

/** Sorting is done once, after the rows are in; the checks of foreign keys are left out. */
const SESSION = `
set statement_timeout = 0;
set session_replication_role = replica;
set synchronous_commit = off;
set maintenance_work_mem = '512MB';`;

const SECONDARY_INDEXES = `
select c.relname as name, pg_get_indexdef(i.indexrelid) as definition
from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
where t.relname = any($1) and not exists (select from pg_constraint where conindid = c.oid)
order by 1`;

/**
 * Runs `fill` on a session without triggers and the secondary indexes of these tables, builds the
 * indexes, and has PostgreSQL know its new rows.
 */
export async function fillTables(
  client: pg.ClientBase,
  tables: readonly string[],
  fill: () => Promise<void>,
): Promise<void> {
  await client.query(SESSION);
  type Index = { name: string; definition: string };
  const { rows: indexes } = await client.query<Index>(SECONDARY_INDEXES, [tables]);
  for (const { name } of indexes) await client.query(`drop index "${name}"`);
  await fill();
  for (const { name, definition } of indexes) {
    const startedAt = performance.now();
    await client.query(definition);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    process.stderr.write(`  index ${name} ${seconds} s\n`);
  }
  await client.query(`vacuum (analyze) ${tables.join(', ')}`);
  await client.query('checkpoint');
}

/** Rows that were copied with their ids leave the sequence of the table behind. */
export async function continueIds(client: pg.ClientBase, table: string): Promise<void> {
  await client.query(
    `select setval(pg_get_serial_sequence('${table}', 'id'), (select max(id) from ${table}))`,
  );
}
