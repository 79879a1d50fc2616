import { createFailureLimit, type FailureLimitOptions } from '../../http/failure-limit.js';

/** Who tries to sign in, and from where. */
export interface Attempt {
  address: string | null;
  account: string;
}

/** Wrong passwords are counted by address and by account: 20 a minute each. */
export interface SignInLimits {
  /** Counts an attempt as failed, before it is known. AppError 429 when it is one too many. */
  begin(attempt: Attempt): void;
  /** The attempt was none of those. */
  succeed(attempt: Attempt): void;
}

export function createSignInLimits(options: FailureLimitOptions = {}): SignInLimits {
  const byAddress = createFailureLimit(options);
  const byAccount = createFailureLimit(options);
  return {
    begin({ address, account }) {
      const refusal = byAddress.take(address) ?? byAccount.take(account.toLowerCase());
      if (refusal) throw refusal;
    },
    succeed({ address, account }) {
      byAddress.giveBack(address);
      byAccount.giveBack(account.toLowerCase());
    },
  };
}
