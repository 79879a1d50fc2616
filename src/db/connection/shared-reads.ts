interface Reads {
  running: Promise<unknown>;
  /** Begins when `running` ends. */
  next?: Promise<unknown> | undefined;
}

/**
 * Equal reads one after the other. Those that are asked for while one runs share the next one, which
 * begins after they came, so that each sees whatever was committed before.
 */
export class SharedReads {
  readonly #reads = new Map<string, Reads>();

  /** `read` must give the same to all callers with one key. */
  share<T>(key: string, read: () => Promise<T>): Promise<T> {
    const reads = this.#reads.get(key);
    if (reads === undefined) return this.#start(key, read);
    reads.next ??= ended(reads.running).then(() => this.#start(key, read));
    return reads.next as Promise<T>;
  }

  #start<T>(key: string, read: () => Promise<T>): Promise<T> {
    const running = read();
    const reads: Reads = { running };
    this.#reads.set(key, reads);
    // Before the next one, which waits for the same promise, takes this place.
    const forget = () => {
      if (reads.next === undefined && this.#reads.get(key) === reads) this.#reads.delete(key);
    };
    void ended(running).then(forget);
    return running;
  }
}

function ended(promise: Promise<unknown>): Promise<void> {
  return promise.then(
    () => undefined,
    () => undefined,
  );
}
