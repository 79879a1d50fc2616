import type { Knex } from 'knex';
import type { Sql } from './filter-sql.js';
import { runSql } from './resource-store-sql.js';
import { toAppError } from './sqlstate.js';
import { runTransaction } from './unit-of-work.js';

/** As many rows as the driver may take apart at a time: 200 devices are some 4 ms. */
export const SLICE_ROWS = 200;

/**
 * The rows of one query, fetched in slices so that taking them apart leaves other requests their
 * turns. They are those of one moment. Opens a transaction of its own.
 */
export async function runSliced<T>(knex: Knex, { text, bindings }: Sql): Promise<T[]> {
  try {
    return await runTransaction(knex, (trx) => fetchAll<T>(trx, { text, bindings }));
  } catch (error) {
    throw toAppError(error);
  }
}

async function fetchAll<T>(trx: Knex, { text, bindings }: Sql): Promise<T[]> {
  // A cursor's plan is made for its first rows otherwise: here all are read.
  await runSql(trx, { text: 'set local cursor_tuple_fraction = 1', bindings: [] });
  await runSql(trx, { text: `declare rows no scroll cursor for ${text}`, bindings });
  const rows: T[] = [];
  for (;;) {
    const slice = await runSql<T>(trx, { text: `fetch ${SLICE_ROWS} from rows`, bindings: [] });
    rows.push(...slice);
    if (slice.length < SLICE_ROWS) return rows;
  }
}
