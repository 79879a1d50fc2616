interface Waiting {
  item: unknown;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/** The results of these items, in their order. */
export type RunBatch<Item, Result> = (items: Item[]) => Promise<Result[]>;

const MOST_AT_ONCE = 50;

/**
 * Requests for one statement. Those that come while it runs wait for it and are run together, so that a
 * busy server sends fewer statements. Each sees whatever was committed before it came.
 */
export class Batches {
  readonly #byKey = new Map<string, Waiting[]>();

  /** `run` must be the same for all items with one key. */
  run<Item, Result>(key: string, item: Item, run: RunBatch<Item, Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const one = { item, resolve, reject } as Waiting;
      const waiting = this.#byKey.get(key);
      if (waiting !== undefined) waiting.push(one);
      else void this.#start(key, one, run as RunBatch<unknown, unknown>);
    });
  }

  async #start(key: string, first: Waiting, run: RunBatch<unknown, unknown>): Promise<void> {
    const waiting: Waiting[] = [];
    this.#byKey.set(key, waiting);
    for (let batch = [first]; batch.length > 0; batch = waiting.splice(0, MOST_AT_ONCE)) {
      await answer(batch, run);
    }
    this.#byKey.delete(key);
  }
}

async function answer(batch: Waiting[], run: RunBatch<unknown, unknown>): Promise<void> {
  try {
    const results = await run(batch.map(({ item }) => item));
    for (const [index, { resolve }] of batch.entries()) resolve(results[index]);
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}
