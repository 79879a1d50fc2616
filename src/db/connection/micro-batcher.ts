/** One statement for many callers. Resolves with one result an item, in the order given. */
export type RunBatch<In, Out> = (items: In[]) => Promise<Out[]>;

export interface MicroBatcherOptions<In> {
  /** Most items in one statement. */
  maxBatch: number;
  /** Most statements under way at once. */
  maxInFlight: number;
  /** Items with one key never share a statement, nor run side by side: they lock the same rows. */
  keyOf: (item: In) => string;
}

interface Waiting<In, Out> {
  item: In;
  key: string;
  resolve: (value: Out) => void;
  reject: (error: unknown) => void;
}

/**
 * Collects the items that arrive while statements run, and runs them in one statement. There is no
 * timer: at low load every item runs at once and alone. When a batch fails, each item runs by itself,
 * so that one bad item cannot fail the others.
 */
export class MicroBatcher<In, Out> {
  readonly #waiting: Waiting<In, Out>[] = [];
  readonly #busyKeys = new Set<string>();
  #inFlight = 0;
  #scheduled = false;

  readonly #run: RunBatch<In, Out>;
  readonly #options: MicroBatcherOptions<In>;

  constructor(run: RunBatch<In, Out>, options: MicroBatcherOptions<In>) {
    this.#run = run;
    this.#options = options;
  }

  submit(item: In): Promise<Out> {
    return new Promise<Out>((resolve, reject) => {
      this.#waiting.push({ item, key: this.#options.keyOf(item), resolve, reject });
      this.#schedule();
    });
  }

  /** One flush after all requests that this turn of the event loop has read. */
  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= this.#options.maxInFlight) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#waiting.length > 0 && this.#inFlight < this.#options.maxInFlight) {
      const batch = this.#nextBatch();
      if (batch.length === 0) return;
      void this.#execute(batch);
    }
  }

  #nextBatch(): Waiting<In, Out>[] {
    const batch: Waiting<In, Out>[] = [];
    const postponed: Waiting<In, Out>[] = [];
    while (this.#waiting.length > 0 && batch.length < this.#options.maxBatch) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      if (this.#busyKeys.has(next.key)) {
        postponed.push(next);
        continue;
      }
      this.#busyKeys.add(next.key);
      batch.push(next);
    }
    this.#waiting.unshift(...postponed);
    return batch;
  }

  async #execute(batch: Waiting<In, Out>[]): Promise<void> {
    this.#inFlight += 1;
    try {
      await this.#runBatch(batch);
    } finally {
      this.#inFlight -= 1;
      for (const { key } of batch) this.#busyKeys.delete(key);
      if (this.#waiting.length > 0) this.#schedule();
    }
  }

  async #runBatch(batch: Waiting<In, Out>[]): Promise<void> {
    try {
      const results = await this.#run(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => {
        resolve(results[index] as Out);
      });
    } catch (error) {
      if (batch.length > 1) for (const member of batch) await this.#runBatch([member]);
      else batch[0]?.reject(error);
    }
  }
}
