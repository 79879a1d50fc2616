import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import type { Logger } from '../../logger.js';
import { AccountCalls } from './account-calls.js';
import { AccountStatus } from './account-status.js';
import { createExchanges } from './exchange.js';
import { PROGRAM_LIMITS, type ProgramClock, type ProgramLimits, SYSTEM_CLOCK } from './limits.js';
import type { ProgramAccount, ProgramAccounts, ProgramApi } from './dep-api.js';
import { ProgramClient } from './dep-client.js';
import { type ProgramToken, readToken, tokenFault } from './dep-token-values.js';
import { ServiceCalls } from './service-calls.js';
import { ProgramSession } from './session.js';

export interface ProgramAccountsDeps {
  db: Database;
  box: SecretBox;
  logger: Logger;
  /** Of this program; Apple wants to know. */
  version: string;
  /** Origin of Apple's service, or of the lab's stand-in. */
  host: string;
  /** PEM of the CAs to believe for it; undefined: those Node knows. */
  ca: string | undefined;
  /** Tokens of the lab's are used only while it is on, and then only they. */
  isLabOn: boolean;
  limits?: Partial<ProgramLimits>;
  clock?: ProgramClock;
}

/** What all calls with one token share. */
export interface SharedToken {
  /** As it was read last. */
  token: ProgramToken;
  session: ProgramSession;
  status: AccountStatus;
}

function isSameToken(one: ProgramToken, other: ProgramToken): boolean {
  return (
    one.consumerKey === other.consumerKey &&
    one.accessToken === other.accessToken &&
    one.base === other.base
  );
}

class StoredAccounts implements ProgramAccounts {
  readonly #deps: ProgramAccountsDeps;
  readonly #clock: ProgramClock;
  readonly #calls: ServiceCalls;
  readonly #closing = new AbortController();
  /** By account: a former token's is never used for the present one. */
  readonly #shared = new Map<number, SharedToken>();
  readonly close: () => void;

  constructor(deps: ProgramAccountsDeps) {
    const limits = { ...PROGRAM_LIMITS, ...deps.limits };
    const exchanges = createExchanges(limits, deps.ca);
    this.#deps = deps;
    this.#clock = deps.clock ?? SYSTEM_CLOCK;
    this.#calls = new ServiceCalls({
      exchanges,
      clock: this.#clock,
      limits,
      version: deps.version,
    });
    this.close = () => {
      this.#closing.abort(new Error('the server stops'));
      exchanges.close();
    };
  }

  async use<T>(
    accountId: number,
    work: (api: ProgramApi, account: ProgramAccount) => Promise<T>,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<T> {
    const shared = await this.#read(accountId);
    await this.#requireUsable(shared);
    const closing = this.#closing.signal;
    const account = new AccountCalls(shared, {
      calls: this.#calls,
      readAnew: () => this.#read(accountId),
      signal: signal ? AbortSignal.any([signal, closing]) : closing,
      now: () => this.#clock.now(),
    });
    const api = new ProgramClient((request, read) => account.ask(request, read));
    return await work(api, { id: accountId, consumerKey: shared.token.consumerKey });
  }

  async #requireUsable({ token, status }: SharedToken): Promise<void> {
    const { isLabOn } = this.#deps;
    const fault = tokenFault(token, { isLabOn, now: this.#clock.now() });
    if (fault === undefined) return;
    await status.fail(fault, '');
    throw fault;
  }

  async #read(accountId: number): Promise<SharedToken> {
    const token = await readToken(this.#deps, accountId);
    const known = this.#shared.get(accountId);
    const shared = known && isSameToken(known.token, token) ? known : this.#share(token);
    // Its secrets may have been set right.
    shared.token = token;
    shared.status.see(token.status);
    return shared;
  }

  #share(token: ProgramToken): SharedToken {
    const shared: SharedToken = {
      token,
      session: new ProgramSession(() => this.#calls.logIn(shared.token, this.#closing.signal)),
      status: new AccountStatus(this.#deps, token),
    };
    this.#shared.set(token.id, shared);
    return shared;
  }
}

/** Closing ends what is under way. */
export function createProgramAccounts(
  deps: ProgramAccountsDeps,
): ProgramAccounts & { close(): void } {
  return new StoredAccounts(deps);
}
