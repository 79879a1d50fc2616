/** What is to go wrong, in place of an answer or beside it. */
export interface FaultRule {
  /** Such as /profile/devices; all paths when absent. */
  path?: string | undefined;
  /** Such as DELETE; all when absent. */
  method?: string | undefined;
  /** Of the answer; without it, and without `drop`, the right answer is given. */
  status?: number | undefined;
  /** Apple's words; usual ones of the status when absent. */
  body?: string | undefined;
  /** Seconds. */
  retry_after?: number | undefined;
  delay_ms?: number | undefined;
  /** The connection is cut instead of an answer. */
  drop?: boolean | undefined;
  /** The request is obeyed before all the same. */
  obeyed?: boolean | undefined;
  /** For these serial numbers in place of SUCCESS (all of the request when absent). */
  result?: string | undefined;
  serial_numbers?: readonly string[] | undefined;
  /** So many requests pass before. */
  after?: number | undefined;
  /** How often; always when absent. */
  times?: number | undefined;
}

interface Entry {
  rule: FaultRule;
  passing: number;
  left: number;
}

export const DEFAULT_BODIES: Readonly<Record<number, string>> = {
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_SERVER_ERROR',
  503: 'SERVICE_UNAVAILABLE',
};

/** The rules that hold; the oldest that fits is used. */
export class FaultRules {
  #entries: Entry[] = [];

  add(rule: FaultRule): void {
    const left = rule.times ?? Number.POSITIVE_INFINITY;
    this.#entries.push({ rule, passing: rule.after ?? 0, left });
  }

  clear(): void {
    this.#entries = [];
  }

  get rules(): FaultRule[] {
    return this.#entries.map(({ rule }) => rule);
  }

  /** What is to go wrong with this request; undefined: nothing. */
  next(method: string, path: string): FaultRule | undefined {
    const fits = ({ rule }: Entry) =>
      (rule.path ?? path) === path && (rule.method ?? method) === method;
    for (const entry of this.#entries.filter(fits)) {
      if (entry.passing > 0) {
        entry.passing -= 1;
        continue;
      }
      entry.left -= 1;
      if (entry.left <= 0) this.#entries = this.#entries.filter((other) => other !== entry);
      return entry.rule;
    }
    return undefined;
  }
}
