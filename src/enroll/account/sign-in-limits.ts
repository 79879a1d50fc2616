import { FailureLimit, type FailureLimitOptions } from '../../http/requests/failure-limit.js';

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
export interface SignInLimits {
  /** Counts an attempt as failed before it is checked. AppError 429 over the limit. */
  begin(attempt: Attempt): void;
  /** The attempt was right: uncounts it. */
  succeed(attempt: Attempt): void;
}

export function createSignInLimits(options: FailureLimitOptions = {}): SignInLimits {
  const byAddress = new FailureLimit(options);
  const byAccount = new FailureLimit(options);
  const newcomers = new FailureLimit({ ...options, limit: 1 });
  return {
    begin({ address, account }) {
      const ofAddress = byAddress.count(address);
      if (ofAddress) throw ofAddress;
      const hasFailed = newcomers.count(address) !== undefined;
      const ofAccount = byAccount.count(account.toLowerCase());
      if (ofAccount && hasFailed) throw ofAccount;
    },
    succeed({ address, account }) {
      byAddress.uncount(address);
      newcomers.uncount(address);
      byAccount.uncount(account.toLowerCase());
    },
  };
}
