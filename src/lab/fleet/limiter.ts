/** Runs a limited number of pieces of work at once; the others wait in the order they came. */
export class Limiter {
  private free: number;
  private waiting: (() => void)[] = [];
  private next = 0;

  constructor(limit: number) {
    this.free = limit;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  private enter(): Promise<void> {
    if (this.free > 0) {
      this.free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** Resumes the task that has waited longest. Trims the array now and then. */
  private leave(): void {
    const resume = this.waiting[this.next];
    if (resume === undefined) {
      this.free += 1;
      return;
    }
    this.next += 1;
    if (this.next === this.waiting.length || this.next === 10_000) {
      this.waiting = this.waiting.slice(this.next);
      this.next = 0;
    }
    resume();
  }
}

interface LimitedOptions {
  /** Most pieces of work under way at once. */
  limit: number;
  /** Once aborted, nothing new is begun. */
  signal: AbortSignal;
}

/** Runs `work` over all items, a limited number at a time. Rejects with the first failure. */
export async function forEachLimited<T>(
  items: readonly T[],
  { limit, signal }: LimitedOptions,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) {
      if (signal.aborted) return;
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}
