type Read<T> = (signal: AbortSignal) => Promise<T>;

/** One read and those that wait for it. */
class CoalescedRead {
  readonly result: Promise<unknown>;
  readonly #abandoned = new AbortController();
  #waiting = 0;

  /** Begins when `before` is over, or at once. */
  constructor(read: Read<unknown>, before?: Promise<void>) {
    const { signal } = this.#abandoned;
    const begin = () => {
      signal.throwIfAborted();
      return read(signal);
    };
    this.result = before === undefined ? read(signal) : before.then(begin);
  }

  get isAbandoned(): boolean {
    return this.#abandoned.signal.aborted;
  }

  /** When all that wait have left, the read is cancelled with the reason of the last one. */
  join(signal: AbortSignal | undefined): void {
    this.#waiting += 1;
    const leave = () => {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#abandoned.abort(signal?.reason);
    };
    if (signal?.aborted) leave();
    else signal?.addEventListener('abort', leave, { once: true });
  }
}

interface Reads {
  running: CoalescedRead;
  /** Begins when `running` ends. */
  next?: CoalescedRead | undefined;
}

/**
 * Equal reads one after the other. Those that are asked for while one runs share the next one, which
 * begins after they came, so that each sees whatever was committed before.
 */
export class CoalescedReads {
  readonly #reads = new Map<string, Reads>();

  /**
   * `read` must return the same to all callers with one key, and no caller may change the result. `signal` is
   * aborted when the caller no longer waits.
   */
  share<T>(key: string, read: Read<T>, signal?: AbortSignal): Promise<T> {
    const reads = this.#reads.get(key);
    const shared = reads === undefined ? this.#begin(key, read) : nextOf(reads, read);
    shared.join(signal);
    return shared.result as Promise<T>;
  }

  #begin(key: string, read: Read<unknown>): CoalescedRead {
    const running = new CoalescedRead(read);
    this.#run(key, { running });
    return running;
  }

  #run(key: string, reads: Reads): void {
    this.#reads.set(key, reads);
    void ended(reads.running).then(() => {
      if (reads.next === undefined) this.#reads.delete(key);
      else this.#run(key, { running: reads.next });
    });
  }
}

function nextOf(reads: Reads, read: Read<unknown>): CoalescedRead {
  if (reads.next === undefined || reads.next.isAbandoned) {
    reads.next = new CoalescedRead(read, ended(reads.running));
  }
  return reads.next;
}

function ended({ result }: CoalescedRead): Promise<void> {
  return result.then(
    () => undefined,
    () => undefined,
  );
}
