/** A failure to simulate, instead of the regular answer or in addition to it. */
export interface FaultRule {
  /** For example /profile/devices; all paths if absent. */
  path?: string | undefined;
  /** For example DELETE; all methods if absent. */
  method?: string | undefined;
  /** Status to answer; without it and without `drop` the regular answer is sent. */
  status?: number | undefined;
  /** Apple's error code; by default the usual one of the status. */
  body?: string | undefined;
  /** Seconds. */
  retry_after?: number | undefined;
  delay_ms?: number | undefined;
  /** The connection is closed without an answer. */
  drop?: boolean | undefined;
  /** The request is executed all the same. */
  obeyed?: boolean | undefined;
  /** Sent instead of SUCCESS for `serial_numbers` (by default all of the request). */
  result?: string | undefined;
  serial_numbers?: readonly string[] | undefined;
  /** Number of requests that pass before the rule applies. */
  after?: number | undefined;
  /** How often the rule applies; always if absent. */
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

/** The current rules; the oldest that matches applies. */
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

  /** The rule for this request; undefined: none. */
  next(method: string, path: string): FaultRule | undefined {
    const matches = ({ rule }: Entry) =>
      (rule.path ?? path) === path && (rule.method ?? method) === method;
    for (const entry of this.#entries.filter(matches)) {
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
