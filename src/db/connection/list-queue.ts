import { AppError } from '../../errors.js';
import type { Caller } from '../../jsonapi/store.js';

export interface TurnLimits {
  /** Statements that run at the same time. */
  connections: number;
  /** The same for one account. */
  perAccount: number;
  /** Kept free for accounts that have none running. */
  reserved: number;
  /** How long a statement waits for its turn. */
  waitMs: number;
}

/** Waiting statements of one account; each holds up a request. */
const MAX_WAITING = 200;
const RETRY_AFTER_SECONDS = 5;

interface Waiter {
  account: string;
  start(): void;
  reject(error: AppError): void;
}

/**
 * Decides which statement of a list runs next. The statements of one account wait for each other, so
 * that other accounts always find a free connection.
 */
export class ListQueue {
  readonly #limits: TurnLimits;
  readonly #running = new Map<string, number>();
  readonly #waiting = new Set<Waiter>();
  #free: number;
  #closedBy: AppError | undefined;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
    this.#free = limits.connections;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Resolves when the statement may run, with the function that ends its turn. Rejects with AppError
   * 429 when the account's own lists take too long, 503 when those of others do, and with the reason
   * of the caller's signal.
   */
  wait({ account, signal }: Caller): Promise<() => void> {
    if (this.#closedBy) return Promise.reject(this.#closedBy);
    if (this.#mayRun(account)) return Promise.resolve(this.#start(account));
    return new Promise((resolve, reject) => {
      if (this.#waitingOf(account) >= MAX_WAITING) {
        reject(this.#refusal(account));
        return;
      }
      const stopWaiting = () => {
        this.#waiting.delete(waiter);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        account,
        start: () => {
          stopWaiting();
          resolve(this.#start(account));
        },
        reject: (error) => {
          stopWaiting();
          reject(error);
        },
      };
      const onAbort = () => waiter.reject(signal?.reason as AppError);
      const timer = setTimeout(() => waiter.reject(this.#refusal(account)), this.#limits.waitMs);
      timer.unref();
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiter);
    });
  }

  /** Rejects all waiting statements, and all later ones. */
  close(reason: AppError): void {
    this.#closedBy = reason;
    for (const waiter of this.#waiting) waiter.reject(reason);
  }

  #runningOf(account: string): number {
    return this.#running.get(account) ?? 0;
  }

  #waitingOf(account: string): number {
    let count = 0;
    for (const waiter of this.#waiting) if (waiter.account === account) count += 1;
    return count;
  }

  #mayRun(account: string): boolean {
    const { perAccount, reserved } = this.#limits;
    const running = this.#runningOf(account);
    if (running === 0) return this.#free > 0;
    return running < perAccount && this.#free > reserved;
  }

  #start(account: string): () => void {
    this.#free -= 1;
    this.#running.set(account, this.#runningOf(account) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#end(account);
    };
  }

  #end(account: string): void {
    this.#free += 1;
    const left = this.#runningOf(account) - 1;
    if (left === 0) this.#running.delete(account);
    else this.#running.set(account, left);
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.start();
  }

  /** The waiter whose account runs the fewest statements; of equal ones the first to come. */
  #next(): Waiter | undefined {
    let best: Waiter | undefined;
    for (const waiter of this.#waiting) {
      if (!this.#mayRun(waiter.account)) continue;
      const isFewer = best && this.#runningOf(waiter.account) < this.#runningOf(best.account);
      if (best === undefined || isFewer) best = waiter;
    }
    return best;
  }

  #refusal(account: string): AppError {
    const headers = { 'Retry-After': String(RETRY_AFTER_SECONDS) };
    const running = this.#runningOf(account);
    if (running === 0) {
      const message = 'Lists of other accounts keep every connection for lists busy; try again';
      return new AppError('unavailable', 503, message, { headers });
    }
    const message = `${running} lists of this token are still being read; wait for their answers`;
    return new AppError('too_many_requests', 429, message, { headers });
  }
}
