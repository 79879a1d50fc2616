import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import type { Logger } from '../../logger.js';
import { AccountCalls, type SharedToken } from './account-calls.js';
import { AccountStatus } from './account-status.js';
import { type AccountToken, readToken, tokenFailure } from './account-token.js';
import type { DepAccount, DepAccounts, DepApi } from './dep-api.js';
import { DepClient } from './dep-client.js';
import { DEP_LIMITS, type DepClock, type DepLimits, Exchanges, SYSTEM_CLOCK } from './exchange.js';
import { ServiceCalls } from './service-calls.js';
import { DepSession } from './session.js';

export interface DepAccountsDeps {
  db: Database;
  box: SecretBox;
  logger: Logger;
  /** Sent to Apple in User-Agent. */
  musterVersion: string;
  /** Origin of Apple's service, or of the lab's stand-in. */
  host: string;
  /** PEM of the CAs to trust for it; undefined: Node's default CAs. */
  ca: string | undefined;
  /** While the lab is on only its own tokens are used, otherwise only Apple's. */
  isLabOn: boolean;
  limits?: Partial<DepLimits>;
  clock?: DepClock;
}

/** Apple's DEP service for the accounts of the database. `close` aborts the calls under way. */
export class StoredDepAccounts implements DepAccounts {
  readonly #deps: DepAccountsDeps;
  readonly #clock: DepClock;
  readonly #calls: ServiceCalls;
  readonly #closing = new AbortController();
  /** By account; replaced when the account's token changes. */
  readonly #shared = new Map<number, SharedToken>();
  readonly close: () => void;

  constructor(deps: DepAccountsDeps) {
    const limits = { ...DEP_LIMITS, ...deps.limits };
    const exchanges = new Exchanges(limits, deps.ca);
    this.#deps = deps;
    this.#clock = deps.clock ?? SYSTEM_CLOCK;
    this.#calls = new ServiceCalls({
      exchanges,
      clock: this.#clock,
      limits,
      musterVersion: deps.musterVersion,
    });
    this.close = () => {
      this.#closing.abort(new Error('the server stops'));
      exchanges.close();
    };
  }

  async use<T>(
    accountId: number,
    work: (api: DepApi, account: DepAccount) => Promise<T>,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    const shared = await this.#read(accountId);
    await this.#requireUsable(shared);
    const closing = this.#closing.signal;
    const account = new AccountCalls(shared, {
      calls: this.#calls,
      rereadToken: () => this.#read(accountId),
      signal: signal ? AbortSignal.any([signal, closing]) : closing,
      now: () => this.#clock.now(),
    });
    const api = new DepClient((request, read) => account.call(request, read));
    return await work(api, { id: accountId, consumerKey: shared.token.consumerKey });
  }

  async #requireUsable({ token, status }: SharedToken): Promise<void> {
    const { isLabOn } = this.#deps;
    const failure = tokenFailure(token, { isLabOn, now: this.#clock.now() });
    if (failure === undefined) return;
    await status.recordFailure(failure, '');
    throw failure;
  }

  async #read(accountId: number): Promise<SharedToken> {
    const token = await readToken(this.#deps, accountId);
    const known = this.#shared.get(accountId);
    const shared = known && isSameToken(known.token, token) ? known : this.#share(token);
    // Its secrets or expiry may have been corrected.
    shared.token = token;
    shared.status.setStored(token.status);
    return shared;
  }

  #share(token: AccountToken): SharedToken {
    const shared: SharedToken = {
      token,
      session: new DepSession(() => this.#calls.logIn(shared.token, this.#closing.signal)),
      status: new AccountStatus(this.#deps, token),
    };
    this.#shared.set(token.id, shared);
    return shared;
  }
}

function isSameToken(one: AccountToken, other: AccountToken): boolean {
  return (
    one.consumerKey === other.consumerKey &&
    one.accessToken === other.accessToken &&
    one.base === other.base
  );
}
