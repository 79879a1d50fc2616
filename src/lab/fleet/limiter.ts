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

  /** The place goes to the one that has waited longest; taken ones are cut off now and then. */
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
