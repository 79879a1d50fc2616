import { LRUCache } from 'lru-cache';
import type { ResourceShape } from '../../jsonapi/definition/shape.js';
import type { FindQuery, Row } from '../../jsonapi/store.js';
import type { Database } from '../connection/database.js';
import { MicroBatcher } from '../connection/micro-batcher.js';
import { runOnPool } from '../connection/prepared-statements.js';
import { columnList } from './list-query.js';
import { nextIds } from './new-row-values.js';
import { quoted } from './text-sql.js';

interface NewId {
  id: number;
  now: Date;
}

type RowBatcher = MicroBatcher<number, Row | undefined>;
type IdBatcher = MicroBatcher<string, NewId>;

/** Few enough that commands with large results do not exhaust the memory together. */
const LIMITS = { maxBatch: 20, maxInFlight: 1 };

/** Each sparse fieldset needs a separate statement. */
const MAX_STATEMENTS = 500;

/**
 * Single rows and new ids, read outside of any transaction. Those that requests ask for at the same
 * time are read together: a statement costs more than its rows. Rejects with the driver's error.
 */
export class RowReads {
  readonly #db: Database;
  readonly #rows = new LRUCache<string, RowBatcher>({ max: MAX_STATEMENTS });
  readonly #ids = new Map<string, IdBatcher>();
  #asked = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  find({ shape, id, columns }: Pick<FindQuery, 'shape' | 'id' | 'columns'>) {
    const text = rowsByIdSql(shape, columns);
    const batcher = this.#rows.get(text) ?? this.#rowBatcher(text);
    return batcher.submit(id);
  }

  /** An id that no row has or gets, and the time of the database. */
  nextId(shape: ResourceShape): Promise<NewId> {
    const batcher = this.#ids.get(shape.table) ?? this.#idBatcher(shape);
    this.#asked += 1;
    return batcher.submit(String(this.#asked));
  }

  #rowBatcher(text: string): RowBatcher {
    const read = async (ids: number[]): Promise<(Row | undefined)[]> => {
      const rows = await runOnPool<Row>(this.#db, { text, bindings: [ids] });
      const byId = new Map(rows.map((row) => [row.id, row]));
      return ids.map((id) => byId.get(id));
    };
    // Callers may change their row, so that no two get the same.
    const made = new MicroBatcher(read, { ...LIMITS, keyOf: String });
    this.#rows.set(text, made);
    return made;
  }

  #idBatcher(shape: ResourceShape): IdBatcher {
    const choose = ({ length }: string[]) => nextIds(this.#db.knex, shape, length);
    const made = new MicroBatcher(choose, { ...LIMITS, keyOf: (asked) => asked });
    this.#ids.set(shape.table, made);
    return made;
  }
}

/** The texts of `rowsByIdSql`, by their columns. */
const texts = new WeakMap<readonly string[], { table: string; text: string }>();

export function rowsByIdSql({ table }: ResourceShape, columns: readonly string[]): string {
  const known = texts.get(columns);
  if (known?.table === table) return known.text;
  const from = `from ${quoted(table)} as t0 where t0."id" = any(?::bigint[])`;
  const text = `select ${columnList(columns)} ${from}`;
  texts.set(columns, { table, text });
  return text;
}
