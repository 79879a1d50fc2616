/** Remembers what was used once, as long as it could be used again. */
export class UsedNonces {
  readonly #expiry = new Map<string, number>();
  #sweepAt = 1_000;

  constructor(private readonly lifeSeconds: number) {}

  /** False when it was used before. */
  use(nonce: string, timestamp: number): boolean {
    if (this.#expiry.has(nonce)) return false;
    this.#expiry.set(nonce, timestamp + this.lifeSeconds);
    if (this.#expiry.size >= this.#sweepAt) this.#sweep();
    return true;
  }

  #sweep(): void {
    const now = Date.now() / 1000;
    for (const [nonce, expiry] of this.#expiry) {
      if (expiry < now) this.#expiry.delete(nonce);
    }
    this.#sweepAt = this.#expiry.size * 2 + 1_000;
  }
}
