import type { Knex } from 'knex';
import type { ResourceShape } from '../../jsonapi/definition/shape.js';
import { runPrepared } from '../connection/prepared-statements.js';
import { type FieldOf, toAppError } from '../connection/sqlstate.js';
import type { Sql, StatementRunner } from '../connection/statement-runner.js';

/**
 * The rows of one statement. Throws AppError; with the shape of the written resource it names the
 * attributes and relationships at fault.
 */
export async function runSql<T>(knex: Knex, sql: Sql, shape?: ResourceShape): Promise<T[]> {
  try {
    return await runPrepared<T>(knex, sql);
  } catch (error) {
    throw toAppError(error, shape && fieldOf(shape));
  }
}

/** Runs statements in a transaction. It does not slice: its rows are few. */
export function runnerIn(trx: Knex): StatementRunner {
  return { run: (sql) => runSql(trx, sql), runSliced: (sql) => runSql(trx, sql) };
}

function fieldOf({ attributes, relationships }: ResourceShape): FieldOf {
  return (column) => {
    if (Object.hasOwn(attributes, column)) return attributeField(column);
    const found = Object.entries(relationships).find(
      ([, relation]) => relation.kind === 'toOne' && relation.column === column,
    );
    if (found === undefined) return undefined;
    const [name] = found;
    return { name, pointer: `/data/relationships/${name}/data` };
  };
}

function attributeField(name: string) {
  return { name, pointer: `/data/attributes/${name}` };
}
