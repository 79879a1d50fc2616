import type { Knex } from 'knex';
import type { Sql } from '../store/filter-sql.js';
import { runSql } from '../store/resource-store-sql.js';

/** As many rows as the driver may take apart at a time: 200 devices are some 4 ms. */
export const SLICE_ROWS = 200;

/** What runs the statements of a read. Errors come out as AppError. */
export interface StatementRunner {
  /** The rows of one statement. */
  run<T>(sql: Sql): Promise<T[]>;
  /**
   * The same in slices, so that taking them apart leaves other requests their turns. They are those
   * of one moment. AppError 400 `query_too_expensive` beyond `maxBytes`.
   */
  runSliced<T>(sql: Sql, maxBytes?: number): Promise<T[]>;
}

/** Runs them in a transaction, where nothing is sliced: it is short, or its rows are few. */
export function runnerIn(trx: Knex): StatementRunner {
  return { run: (sql) => runSql(trx, sql), runSliced: (sql) => runSql(trx, sql) };
}
