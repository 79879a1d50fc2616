import type { Knex } from 'knex';
import type { Sql } from './filter-sql.js';
import { toAppError } from './sqlstate.js';

/** The rows of one statement. The driver's errors come out as AppError. */
export async function runSql<T>(knex: Knex, { text, bindings }: Sql): Promise<T[]> {
  try {
    const { rows } = await knex.raw<{ rows: T[] }>(text, bindings as Knex.RawBinding[]);
    return rows;
  } catch (error) {
    throw toAppError(error);
  }
}
