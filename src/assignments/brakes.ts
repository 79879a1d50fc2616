import {
  countHolders,
  type Effect,
  type ItemEffect,
  readEffect,
} from '../db/assignments/effect.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { AppError } from '../errors.js';

export interface BrakeLimits {
  /** Confirmation is required above this number of devices that gain an item, or another version of one. */
  confirmAbove: number;
  /** The same for devices that lose an item, if they are also more than a tenth of those that have it. */
  confirmRemovals: number;
}

interface MatchedDevices {
  count: number;
  most: number;
  confirm: number | undefined;
}

const LEAST_SHARE = 0.1;

/** Has an admin confirm a write that would change many devices. */
export class Brakes {
  readonly #limits: BrakeLimits;

  constructor(limits: BrakeLimits) {
    this.#limits = limits;
  }

  /**
   * AppError 409 `confirmation_required`, whose `meta` has the number and the effect on each item, unless
   * `confirm` is at least the number of devices that this transaction changes. Call it at the end of the
   * transaction.
   */
  async check(trx: Transaction, confirm = 0): Promise<void> {
    const effect = await readEffect(trx);
    if (effect === undefined) return;
    const faults = [
      ...this.#gainFault(effect, confirm),
      ...(await this.#lossFaults(trx, effect.items, confirm)),
    ];
    if (faults.length === 0) return;
    const most = Math.max(effect.gaining, ...effect.items.map(({ losses }) => losses));
    const detail =
      `${faults.join('; ')}. If that is meant, repeat the request with "meta": {"confirm": ${most}} ` +
      `in its document, or with ?confirm=${most}`;
    const meta = { confirm: most, items: effect.items };
    throw new AppError('confirmation_required', 409, detail, { details: [{ detail, meta }] });
  }

  /**
   * The same for devices that are named by a filter, which may match more than anybody thought: more than
   * `most`, or CONFIRM_ABOVE, are confirmed whatever the effect.
   */
  checkMatched({ count, most, confirm = 0 }: MatchedDevices): void {
    if (count <= Math.min(most, this.#limits.confirmAbove) || count <= confirm) return;
    const detail =
      `the filter matches ${count} devices. If that is meant, repeat the request with ` +
      `"confirm": ${count} in its meta, or with ?confirm=${count}`;
    const details = [{ detail, meta: { confirm: count } }];
    throw new AppError('confirmation_required', 409, detail, { details });
  }

  #gainFault({ gaining, items }: Effect, confirm: number): string[] {
    if (gaining <= this.#limits.confirmAbove || gaining <= confirm) return [];
    const names = items.filter(({ gains }) => gains > 0).map(({ identifier }) => identifier);
    return [
      `${gaining} devices would get ${names.join(', ')}, or another version ` +
        `(more than CONFIRM_ABOVE, ${this.#limits.confirmAbove})`,
    ];
  }

  async #lossFaults(
    trx: Transaction,
    items: readonly ItemEffect[],
    confirm: number,
  ): Promise<string[]> {
    const faults: string[] = [];
    for (const { profile_id: id, identifier, losses } of items) {
      if (losses < this.#limits.confirmRemovals || losses <= confirm) continue;
      const holders = await countHolders(trx, id);
      if (losses <= holders * LEAST_SHARE) continue;
      faults.push(`${losses} of ${holders} devices would lose ${identifier}`);
    }
    return faults;
  }
}
