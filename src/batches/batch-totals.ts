import type { LeftOut, Refused, Targets } from '../db/batches/batch-repository.js';
import { AppError } from '../errors.js';

/** Ids that are kept of each reason. */
const EXAMPLES = 10;

/** Devices with the same outcome. */
interface OutcomeGroup {
  ids: readonly number[];
  /** Number of all of them, if `ids` has only the first. */
  count?: number | undefined;
  refusal?: string | undefined;
  leftOut?: readonly string[] | undefined;
}

/** Adds up the outcomes of devices. */
export class BatchTotals {
  readonly #refused = new Map<string, Refused>();
  readonly #leftOut = new Map<string, LeftOut>();
  #matched = 0;
  #eligible = 0;
  #reduced = 0;

  /** Both together. */
  static merge(former: Targets | null, others: Targets): Targets {
    const totals = new BatchTotals();
    for (const one of [former, others]) if (one !== null) totals.#addAll(one);
    return totals.targets;
  }

  #addAll({ matched, eligible, reduced, refused, left_out }: Targets): void {
    this.#matched += matched;
    this.#eligible += eligible;
    this.#reduced += reduced;
    for (const { code, ...one } of refused) {
      this.#refused.set(code, { code, ...joined(this.#refused.get(code), one) });
    }
    for (const { name, ...one } of left_out) {
      this.#leftOut.set(name, { name, ...joined(this.#leftOut.get(name), one) });
    }
  }

  add({ ids, count = ids.length, refusal, leftOut = [] }: OutcomeGroup): void {
    this.#matched += count;
    const some = { count, examples: ids };
    if (refusal !== undefined) {
      const code = refusal;
      this.#refused.set(code, { code, ...joined(this.#refused.get(code), some) });
      return;
    }
    this.#eligible += count;
    if (leftOut.length > 0) this.#reduced += count;
    for (const name of leftOut) {
      this.#leftOut.set(name, { name, ...joined(this.#leftOut.get(name), some) });
    }
  }

  get targets(): Targets {
    return {
      matched: this.#matched,
      eligible: this.#eligible,
      reduced: this.#reduced,
      left_out: [...this.#leftOut.values()].sort(
        (one, other) => byCount(one, other) || byText(one.name, other.name),
      ),
      refused: [...this.#refused.values()].sort(
        (one, other) => byCount(one, other) || byText(one.code, other.code),
      ),
    };
  }
}

interface Some {
  count: number;
  examples: readonly number[];
}

function joined(former: Some | undefined, { count, examples }: Some) {
  const all = [...(former?.examples ?? []), ...examples].sort((one, other) => one - other);
  return { count: count + (former?.count ?? 0), examples: all.slice(0, EXAMPLES) };
}

function byCount(one: Some, other: Some): number {
  return other.count - one.count;
}

function byText(one: string, other: string): number {
  return one < other ? -1 : 1;
}

/** AppError 422 `no_eligible_device`, with every reason and how often it holds. */
export function noneEligible(requestType: string, targets: Targets, isRetry: boolean): AppError {
  const reasons = targets.refused.map(({ code, count }) => `${code}: ${count}`).join(', ');
  const noMatch = isRetry
    ? 'no command of the batch has failed so far: there is nothing to retry'
    : 'no device matches: check the names and the filter';
  const detail =
    targets.matched === 0
      ? noMatch
      : `none of the ${targets.matched} devices can get ${requestType} (${reasons})`;
  const details = [{ detail, meta: { targets } }];
  return new AppError('no_eligible_device', 422, detail, { details });
}
