import { AppError } from '../errors.js';

/** What kept a report from being taken apart: itself, the database, or who knows what. */
export type ReportFault = 'report' | 'database' | 'unknown';

const REFUSED = [400, 413, 422];

/** Only what the reading of its bytes or its values is refused for is the report's own fault. */
export function faultOf(error: unknown): ReportFault {
  if (!(error instanceof AppError)) return 'unknown';
  if (error.code === 'unavailable') return 'database';
  return REFUSED.includes(error.status) ? 'report' : 'unknown';
}

const MOST_TRIES = 5;
/** Of the reports that are left alone; beyond them the oldest gets its tries again. */
const MOST_REMEMBERED = 1_000;

/** How often reports have failed for unknown reasons since the start of this process. */
export class FailedTries {
  readonly #tries = new Map<number, number>();
  readonly #left = new Set<number>();

  /** Reports that have failed too often. */
  get left(): readonly number[] {
    return [...this.#left];
  }

  /** Whether this failure was the last: the report is left alone from now on. */
  count(id: number): boolean {
    const tries = (this.#tries.get(id) ?? 0) + 1;
    if (tries < MOST_TRIES) {
      this.#tries.set(id, tries);
      return false;
    }
    this.#tries.delete(id);
    this.#leave(id);
    return true;
  }

  forget(id: number): void {
    this.#tries.delete(id);
  }

  #leave(id: number): void {
    this.#left.add(id);
    const [oldest] = this.#left;
    if (this.#left.size > MOST_REMEMBERED && oldest !== undefined) this.#left.delete(oldest);
  }
}
