import type pg from 'pg';
import { AppError } from '../../errors.js';
import type { Database } from '../connection/database.js';
import { inTransaction, type Transaction } from '../connection/unit-of-work.js';
import { JOBS, LEFT_OUT } from './backup-tables.js';
import { Loader } from './loader.js';
import type { TableColumns } from './snapshot.js';

/** A transaction, and its connection itself. */
export interface ClientTransaction {
  trx: Transaction;
  client: pg.ClientBase;
}

export interface RestoreTransaction extends ClientTransaction {
  loader: Loader;
}

const COLUMNS = `
select c.relname as name,
  array_agg(a.attname::text order by a.attname) filter (where a.attgenerated = '') as columns
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> all($1)
  and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
group by c.relname`;

/** One transaction in which a backup of these tables is loaded; nothing of it stays when it fails. */
export async function inRestoreTransaction<T>(
  db: Database,
  tables: readonly TableColumns[],
  work: (restore: RestoreTransaction) => Promise<T>,
): Promise<T> {
  return await inClientTransaction(db, async ({ trx, client }) => {
    const { rows } = await client.query<TableColumns>(COLUMNS, [[...LEFT_OUT]]);
    requireSameTables(tables, [...rows, JOBS]);
    const loader = new Loader(
      client,
      rows.map(({ name }) => name),
    );
    await loader.begin();
    return await work({ trx, client, loader });
  });
}

export function inClientTransaction<T>(
  db: Database,
  work: (transaction: ClientTransaction) => Promise<T>,
): Promise<T> {
  return inTransaction(db, async (trx) => work({ trx, client: await connectionOf(trx) }));
}

/** Knex has no COPY. */
async function connectionOf(trx: Transaction): Promise<pg.ClientBase> {
  const client = trx.client as { acquireConnection(): Promise<pg.ClientBase> };
  return await client.acquireConnection();
}

function requireSameTables(
  backup: readonly TableColumns[],
  database: readonly TableColumns[],
): void {
  const there = describe(database);
  const different = describe(backup).find((text) => !there.includes(text));
  if (different === undefined && backup.length === database.length) return;
  const [name = 'a table'] = (different ?? '').split(' ');
  const message =
    `the backup does not fit the schema of its migrations: ${name} differs; nothing was changed. ` +
    'Report this: the backup is whole.';
  throw new AppError('conflict', 409, message);
}

function describe(tables: readonly TableColumns[]): string[] {
  return tables.map(({ name, columns }) => `${name} ${[...columns].sort().join(' ')}`);
}

/** What was loaded is new to PostgreSQL's planner. */
export async function analyze({ background }: Database): Promise<void> {
  const client = await background.connect();
  try {
    await client.query('begin; set local statement_timeout = 0; analyze; commit');
  } finally {
    client.release();
  }
}
