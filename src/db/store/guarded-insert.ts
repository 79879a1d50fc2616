import type { Knex } from 'knex';
import type { ResourceShape } from '../../jsonapi/definition/shape.js';
import type { GuardedInsert, Row } from '../../jsonapi/store.js';
import { runPrepared } from '../connection/prepared-statements.js';
import { toAppError } from '../connection/sqlstate.js';
import type { Sql } from '../connection/statement-runner.js';
import { claimWithResponse } from './idempotency-repository.js';
import { columnList } from './list-query.js';
import { quoted } from './text-sql.js';

/** The statement failed as a whole because of its values, or of another transaction. */
const REFUSED = /^(?:22|23|40)/;

/** The inserted row; undefined if nothing was stored. Throws AppError. */
export async function insertGuarded(knex: Knex, insert: GuardedInsert): Promise<Row | undefined> {
  try {
    const [row] = await runPrepared<Row>(knex, guardedInsertSql(insert));
    return row;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code === 'string' && REFUSED.test(code)) return undefined;
    throw toAppError(error);
  }
}

/**
 * The guard first, then the key, then the row, and then what needs the row. PostgreSQL runs every part
 * once, whether or not the rest reads it.
 */
export function guardedInsertSql(insert: GuardedInsert): Sql {
  const { guard, effects, response } = insert;
  const claim = response && claimWithResponse(response);
  const parts: Sql[] = [
    named('guard', guard),
    ...(claim ? [named('claimed', claim)] : []),
    named('created', rowSql(insert, claim ? 'claimed' : 'guard')),
    ...effects.map((effect, index) => named(`effect_${index}`, effect)),
  ];
  return {
    text: `with ${parts.map(({ text }) => text).join(',\n')}\nselect * from created`,
    bindings: parts.flatMap(({ bindings }) => bindings),
  };
}

function named(name: string, { text, bindings }: Sql): Sql {
  return { text: `${name} as (${text})`, bindings };
}

function rowSql({ shape, values, columns }: GuardedInsert, from: string): Sql {
  const entries = columnValues(shape, values);
  const names = entries.map(([name]) => quoted(name)).join(', ');
  const places = entries.map(() => '?').join(', ');
  // Ids are generated, except for one that was chosen before.
  const overriding = Object.hasOwn(values, 'id') ? 'overriding system value ' : '';
  return {
    text: [
      `insert into ${quoted(shape.table)} (${names}) ${overriding}select ${places} from ${from}`,
      // With the table before it, the name of a function that computes a value is one, too.
      `returning ${columnList(columns, quoted(shape.table))}`,
    ].join(' '),
    bindings: entries.map(([, value]) => value),
  };
}

/** JSON values as text: the driver would send an array as a PostgreSQL array. */
export function columnValues(
  shape: ResourceShape,
  values: Record<string, unknown>,
): [string, unknown][] {
  return Object.entries(values).map(([name, value]) => {
    const isJson = shape.attributes[name]?.kind === 'json' && value !== null;
    return [name, isJson ? JSON.stringify(value) : value];
  });
}
