/** Work that one statement does for many callers at once. Results come back in the order given. */
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
 * Gathers what arrives while statements are under way and sends it out together. There is no timer:
 * at low load every item runs at once and alone. When a batch fails each member is run by itself, so
 * that one bad item cannot fail its neighbours.
 */
export class MicroBatcher<In, Out> {
  private readonly waiting: Waiting<In, Out>[] = [];
  private readonly busyKeys = new Set<string>();
  private inFlight = 0;
  private scheduled = false;

  constructor(
    private readonly run: RunBatch<In, Out>,
    private readonly options: MicroBatcherOptions<In>,
  ) {}

  submit(item: In): Promise<Out> {
    return new Promise<Out>((resolve, reject) => {
      this.waiting.push({ item, key: this.options.keyOf(item), resolve, reject });
      this.schedule();
    });
  }

  /** One flush after all requests that this turn of the event loop has read. */
  private schedule(): void {
    if (this.scheduled || this.inFlight >= this.options.maxInFlight) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      this.flush();
    });
  }

  private flush(): void {
    while (this.waiting.length > 0 && this.inFlight < this.options.maxInFlight) {
      const batch = this.takeBatch();
      if (batch.length === 0) return;
      void this.execute(batch);
    }
  }

  private takeBatch(): Waiting<In, Out>[] {
    const batch: Waiting<In, Out>[] = [];
    const held: Waiting<In, Out>[] = [];
    while (this.waiting.length > 0 && batch.length < this.options.maxBatch) {
      const next = this.waiting.shift();
      if (next === undefined) break;
      if (this.busyKeys.has(next.key)) {
        held.push(next);
        continue;
      }
      this.busyKeys.add(next.key);
      batch.push(next);
    }
    this.waiting.unshift(...held);
    return batch;
  }

  private async execute(batch: Waiting<In, Out>[]): Promise<void> {
    this.inFlight += 1;
    try {
      await this.settle(batch);
    } finally {
      this.inFlight -= 1;
      for (const { key } of batch) this.busyKeys.delete(key);
      if (this.waiting.length > 0) this.schedule();
    }
  }

  private async settle(batch: Waiting<In, Out>[]): Promise<void> {
    try {
      const results = await this.run(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => {
        resolve(results[index] as Out);
      });
    } catch (error) {
      if (batch.length > 1) for (const member of batch) await this.settle([member]);
      else batch[0]?.reject(error);
    }
  }
}
