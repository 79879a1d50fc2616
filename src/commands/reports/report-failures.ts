import { AppError } from '../../errors.js';

/** Why a report could not be handled: by the report, by the database, or for an unknown reason. */
export type FailureCause = 'report' | 'database' | 'unknown';

const REFUSED = [400, 413, 422];

/** The report is the cause only if its bytes or values were refused. */
export function causeOf(error: unknown): FailureCause {
  if (!(error instanceof AppError)) return 'unknown';
  if (error.code === 'unavailable') return 'database';
  return REFUSED.includes(error.status) ? 'report' : 'unknown';
}

const MAX_TRIES = 5;
/** Maximum of skipped reports; above it, the oldest is tried again. */
const MAX_REMEMBERED = 1_000;

/** Counts how often reports failed for unknown reasons since the start of this process. */
export class FailedTries {
  readonly #tries = new Map<number, number>();
  readonly #skipped = new Set<number>();

  /** Reports that have failed too often. */
  get skipped(): readonly number[] {
    return [...this.#skipped];
  }

  isSkipped(id: number): boolean {
    return this.#skipped.has(id);
  }

  /** Counts a failure. Returns true if it was the last try: the report is skipped from now on. */
  count(id: number): boolean {
    const tries = (this.#tries.get(id) ?? 0) + 1;
    if (tries < MAX_TRIES) {
      this.#tries.set(id, tries);
      return false;
    }
    this.#tries.delete(id);
    this.#skip(id);
    return true;
  }

  forget(id: number): void {
    this.#tries.delete(id);
  }

  #skip(id: number): void {
    this.#skipped.add(id);
    const [oldest] = this.#skipped;
    if (this.#skipped.size > MAX_REMEMBERED && oldest !== undefined) this.#skipped.delete(oldest);
  }
}
