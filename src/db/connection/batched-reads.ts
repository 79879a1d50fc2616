interface Waiting<Row> {
  id: number;
  resolve: (row: Row | undefined) => void;
  reject: (error: unknown) => void;
}

/** Reads the rows with these ids, in any order. */
export type ReadRows<Row> = (ids: number[]) => Promise<Row[]>;

const MOST_AT_ONCE = 50;

/**
 * Reads of single rows by one statement. Those that are asked for while one read runs wait for it and
 * are read together, so that a busy server sends fewer statements. Each sees whatever was committed
 * before it was asked for.
 */
export class BatchedReads<Row extends { id: number }> {
  readonly #byStatement = new Map<string, Waiting<Row>[]>();

  /** `read` must be the same for all callers with one statement. */
  find(statement: string, id: number, read: ReadRows<Row>): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      const waiting = this.#byStatement.get(statement);
      const one = { id, resolve, reject };
      if (waiting !== undefined) waiting.push(one);
      else void this.#run(statement, [one], read);
    });
  }

  async #run(statement: string, first: Waiting<Row>[], read: ReadRows<Row>): Promise<void> {
    const waiting: Waiting<Row>[] = [];
    this.#byStatement.set(statement, waiting);
    for (let batch = first; batch.length > 0; batch = waiting.splice(0, MOST_AT_ONCE)) {
      await answer(batch, read);
    }
    this.#byStatement.delete(statement);
  }
}

async function answer<Row extends { id: number }>(
  batch: Waiting<Row>[],
  read: ReadRows<Row>,
): Promise<void> {
  try {
    const rows = await read([...new Set(batch.map(({ id }) => id))]);
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const { id, resolve } of batch) {
      const row = byId.get(id);
      // Callers may change their row.
      resolve(row && { ...row });
    }
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}
