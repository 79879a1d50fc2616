/** A push that was accepted. */
export interface AcceptedPush {
  token: string;
  topic: string;
  mdm: string;
  apnsId: string;
  /** Seconds since 1970; 0: now or never. */
  expiration: number;
}

/** The connection of some devices, as the store sees it. */
export interface CourierLink {
  /** A push waits for this device; `deliver` it when the connection has room. */
  wake(token: string): void;
}

/** What is known of one token. Kept small: a million of them are in memory. */
interface TokenState {
  /** Topic of the device that connected last; undefined: no device has connected. */
  topic: string | undefined;
  link: CourierLink | undefined;
  waiting: Omit<AcceptedPush, 'token'> | undefined;
  /** Milliseconds since 1970; 0: it is in use. */
  goneAt: number;
  accepted: number;
  delivered: number;
}

export interface TokenReport {
  token: string;
  accepted: number;
  delivered: number;
  is_connected: boolean;
  has_waiting_push: boolean;
  /** Since when the device no longer uses it. */
  gone_at: string | null;
}

export interface StoreCounters {
  delivered: number;
  /** Pushes replaced by a newer one before they were delivered. */
  replaced: number;
  expired: number;
  /** Accepted though there was no room for another token. */
  forgotten: number;
  waiting: number;
  connected: number;
  tokens: number;
}

const MAX_TOKENS = 2_000_000;

function nowSeconds(): number {
  return Date.now() / 1000;
}

/** Like APNs: at most one push, the newest, waits for a device that is away, until it expires. */
export class TokenStore {
  readonly #states = new Map<string, TokenState>();
  readonly #most: number;
  #delivered = 0;
  #replaced = 0;
  #expired = 0;
  #forgotten = 0;
  #waiting = 0;
  #connected = 0;

  constructor(maxTokens = MAX_TOKENS) {
    this.#most = maxTokens;
  }

  /** Since when the device no longer uses the token, milliseconds since 1970. */
  goneAt(token: string): number | undefined {
    return this.#states.get(token)?.goneAt || undefined;
  }

  /** The topic of the device that connected with this token, if one has. */
  topicOf(token: string): string | undefined {
    return this.#states.get(token)?.topic;
  }

  accept(push: AcceptedPush): void {
    const state = this.#stateOf(push.token);
    if (state === undefined) {
      this.#forgotten += 1;
      return;
    }
    state.accepted += 1;
    if (state.link === undefined && push.expiration <= nowSeconds()) {
      this.#expired += 1;
      return;
    }
    this.#hold(state, push);
    state.link?.wake(push.token);
  }

  connect(token: string, topic: string, link: CourierLink): void {
    const state = this.#stateOf(token);
    if (state === undefined) return;
    if (state.link === undefined) this.#connected += 1;
    state.link = link;
    state.topic = topic;
    state.goneAt = 0;
    if (state.waiting !== undefined) link.wake(token);
  }

  /** Does nothing if the device has another connection by now. */
  disconnect(token: string, link: CourierLink): void {
    const state = this.#states.get(token);
    if (state?.link !== link) return;
    state.link = undefined;
    this.#connected -= 1;
    if (state.waiting?.expiration === 0) this.#expire(state);
  }

  forget(token: string): void {
    const state = this.#stateOf(token);
    if (state === undefined) return;
    if (state.link !== undefined) this.#connected -= 1;
    state.link = undefined;
    if (state.waiting !== undefined) this.#removeWaiting(state);
    state.goneAt = Date.now();
  }

  /** The waiting push, which from now on counts as delivered; undefined if there is none. */
  deliver(token: string, link: CourierLink): AcceptedPush | undefined {
    const state = this.#states.get(token);
    const waiting = state?.waiting;
    if (state?.link !== link || waiting === undefined) return undefined;
    const isLate = waiting.expiration !== 0 && waiting.expiration <= nowSeconds();
    if (isLate || waiting.topic !== state.topic) {
      this.#expire(state);
      return undefined;
    }
    this.#removeWaiting(state);
    state.delivered += 1;
    this.#delivered += 1;
    return { token, ...waiting };
  }

  /** Resets the counters; waiting pushes stay. */
  resetCounters(): void {
    this.#delivered = 0;
    this.#replaced = 0;
    this.#expired = 0;
    this.#forgotten = 0;
    for (const state of this.#states.values()) {
      state.accepted = 0;
      state.delivered = 0;
    }
  }

  counters(): StoreCounters {
    return {
      delivered: this.#delivered,
      replaced: this.#replaced,
      expired: this.#expired,
      forgotten: this.#forgotten,
      waiting: this.#waiting,
      connected: this.#connected,
      tokens: this.#states.size,
    };
  }

  report(token: string): TokenReport | undefined {
    const state = this.#states.get(token);
    return state && reportOf(token, state);
  }

  *reports(): Generator<TokenReport> {
    for (const [token, state] of this.#states) yield reportOf(token, state);
  }

  #stateOf(token: string): TokenState | undefined {
    const known = this.#states.get(token);
    if (known !== undefined) return known;
    if (this.#states.size >= this.#most) return undefined;
    const state: TokenState = {
      topic: undefined,
      link: undefined,
      waiting: undefined,
      goneAt: 0,
      accepted: 0,
      delivered: 0,
    };
    this.#states.set(token, state);
    return state;
  }

  #hold(state: TokenState, { topic, mdm, apnsId, expiration }: AcceptedPush): void {
    if (state.waiting === undefined) this.#waiting += 1;
    else this.#replaced += 1;
    state.waiting = { topic, mdm, apnsId, expiration };
  }

  #removeWaiting(state: TokenState): void {
    state.waiting = undefined;
    this.#waiting -= 1;
  }

  #expire(state: TokenState): void {
    this.#removeWaiting(state);
    this.#expired += 1;
  }
}

function reportOf(token: string, state: TokenState): TokenReport {
  return {
    token,
    accepted: state.accepted,
    delivered: state.delivered,
    is_connected: state.link !== undefined,
    has_waiting_push: state.waiting !== undefined,
    gone_at: state.goneAt === 0 ? null : new Date(state.goneAt).toISOString(),
  };
}
