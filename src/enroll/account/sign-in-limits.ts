import { FailureLimit, named, type SharedLimitOptions } from '../../http/requests/failure-limit.js';

/** An attempt to sign in. */
export interface Attempt {
  address: string | null;
  account: string;
}

/**
 * Wrong passwords are counted by address and by account: 20 a minute each. When an account is over
 * its limit, the first failed attempt from each new address is still checked; otherwise an attacker
 * could lock the owner out.
 */
export class SignInLimits {
  readonly #byAddress: FailureLimit;
  readonly #byAccount: FailureLimit;
  readonly #newAddresses: FailureLimit;

  constructor(options: SharedLimitOptions = {}) {
    this.#byAddress = new FailureLimit(named('sign-in by address', options));
    this.#byAccount = new FailureLimit(named('sign-in by account', options));
    const first = { ...options, limit: 1 };
    this.#newAddresses = new FailureLimit(named('sign-in from new addresses', first));
  }

  /** Counts an attempt as failed before it is checked. AppError 429 over the limit. */
  begin({ address, account }: Attempt): void {
    const addressError = this.#byAddress.count(address);
    if (addressError) throw addressError;
    const hasFailed = this.#newAddresses.count(address) !== undefined;
    const accountError = this.#byAccount.count(account.toLowerCase());
    if (accountError && hasFailed) throw accountError;
  }

  /** The password was right: the attempt no longer counts as failed. */
  succeed({ address, account }: Attempt): void {
    this.#byAddress.uncount(address);
    this.#newAddresses.uncount(address);
    this.#byAccount.uncount(account.toLowerCase());
  }
}
