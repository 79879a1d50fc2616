import { FailureLimit, type FailureLimitOptions } from '../../http/requests/failure-limit.js';

/** Who tries to sign in, and from where. */
export interface Attempt {
  address: string | null;
  account: string;
}

/**
 * Wrong passwords are counted by address and by account: 20 a minute each. From an address without
 * one of its own an attempt is let through also when the account has had too many, for else anyone
 * could keep its owner out.
 */
export interface SignInLimits {
  /** Counts an attempt as failed, before it is known. AppError 429 when it is one too many. */
  begin(attempt: Attempt): void;
  /** The attempt was none of those. */
  succeed(attempt: Attempt): void;
}

export function createSignInLimits(options: FailureLimitOptions = {}): SignInLimits {
  const byAddress = new FailureLimit(options);
  const byAccount = new FailureLimit(options);
  const newcomers = new FailureLimit({ ...options, limit: 1 });
  return {
    begin({ address, account }) {
      const ofAddress = byAddress.take(address);
      if (ofAddress) throw ofAddress;
      const hasFailed = newcomers.take(address) !== undefined;
      const ofAccount = byAccount.take(account.toLowerCase());
      if (ofAccount && hasFailed) throw ofAccount;
    },
    succeed({ address, account }) {
      byAddress.giveBack(address);
      newcomers.giveBack(address);
      byAccount.giveBack(account.toLowerCase());
    },
  };
}
