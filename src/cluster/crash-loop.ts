/** Exits within the window that count as a crash loop. */
const MAX_ENDS = 5;
const WINDOW_MS = 30_000;

/** Distinguishes single crashes of workers from a fault that every new one meets. */
export class CrashLoop {
  #ends: number[] = [];

  /** Notes that a worker has ended by itself at `now`, in milliseconds. Returns whether that is a loop. */
  note(now: number): boolean {
    this.#ends = [...this.#ends.filter((at) => now - at < WINDOW_MS), now];
    return this.#ends.length >= MAX_ENDS;
  }
}
