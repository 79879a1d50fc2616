import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import type { Socket } from 'node:net';
import { readRefusal } from '../../protocol/apns.js';
import type { ApnsConnection } from './apns-connect.js';
import type { ApnsExchange } from './apns-exchange.js';
import { type ApnsFault, connectionFault, type GoAway, goAwayFault } from './apns-faults.js';
import type { ApnsLimits } from './apns-limits.js';
import { ApnsResets } from './apns-resets.js';
import type { ApnsSessionOwner } from './apns-session-owner.js';
import { type ApnsStreamOwner, openStream } from './apns-stream.js';

/** connecting: until the service's settings are here; checking: until it answers a PING. */
export type ApnsSessionState = 'connecting' | 'open' | 'checking' | 'leaving';

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;
const TIMEOUTS_IN_A_ROW = 2;
const UNTIL_SETTINGS = 0;

/** One connection to the push service. */
export class ApnsSession implements ApnsStreamOwner {
  state: ApnsSessionState = 'connecting';
  /** Most pushes at once, as the service allows. */
  limit = UNTIL_SETTINGS;
  hasAnswered = false;
  #isConnected = false;
  #goAway: GoAway | undefined;
  #fault: ApnsFault | undefined;
  #error: unknown;
  #timeouts = 0;
  readonly #resets = new ApnsResets();
  #heardAt = performance.now();
  #busySince = 0;
  #patienceUntil: number;
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #inFlight = new Set<ApnsExchange>();

  constructor(
    { session, socket }: ApnsConnection,
    private readonly limits: ApnsLimits,
    private readonly owner: ApnsSessionOwner,
  ) {
    this.#session = session;
    this.#socket = socket;
    this.#patienceUntil = this.#heardAt + limits.connectTimeout;
    session.on('remoteSettings', (settings) => this.#onSettings(settings.maxConcurrentStreams));
    session.on('goaway', (code, last, data) => this.#onGoAway(code, last, data));
    session.on('connect', () => {
      this.#isConnected = true;
    });
    session.on('error', (error) => this.#onError(error));
    session.on('close', () => this.#onEnd());
    // An alert after our side of the handshake: Node.js tells the socket and lets the session live.
    socket.on('error', (error) => this.#onError(error));
  }

  get size(): number {
    return this.#inFlight.size;
  }

  /** Ended by the service, with a farewell that blames nobody. */
  get isGraceful(): boolean {
    return this.#goAway?.code === NGHTTP2_NO_ERROR && this.fault.kind === 'unreachable';
  }

  /** Why it is over. */
  get fault(): ApnsFault {
    if (this.#fault !== undefined) return this.#fault;
    if (this.#goAway !== undefined) return goAwayFault(this.#goAway);
    const wasSecure = this.#isConnected;
    return connectionFault({ error: this.#error, socket: this.#socket, wasSecure });
  }

  /** Whether it takes a push. One that has been silent for long is asked for a sign of life first. */
  takes(now: number): boolean {
    if (this.state !== 'open' || this.#inFlight.size >= this.limit) return false;
    if (this.#session.closed || this.#session.destroyed) return false;
    if (this.#inFlight.size > 0 || now - this.#heardAt < this.limits.staleAfter) return true;
    this.#ping(now);
    return false;
  }

  send(exchange: ApnsExchange, now: number): void {
    if (this.#inFlight.size === 0) this.#busySince = now;
    const stream = openStream(this.#session, exchange, this);
    exchange.begin(stream, now + this.limits.requestTimeout);
    this.#inFlight.add(exchange);
  }

  finish(stream: ClientHttp2Stream, exchange: ApnsExchange): void {
    if (exchange.stream !== stream || !this.#inFlight.has(exchange)) return;
    if (exchange.isAnswered) this.#settle(exchange);
    else if (this.#isUntouched(stream, exchange)) this.#release(exchange).onRepeat(exchange);
    else if (!this.#socket.destroyed && !this.#session.destroyed) this.#fail(stream, exchange);
    if (this.state === 'open') this.owner.onRoom(this);
    else if (this.state === 'leaving' && this.#inFlight.size === 0) this.#session.close();
  }

  /** Looks after what must not last too long. */
  tick(now: number): void {
    const isWaiting = this.state === 'connecting' || this.state === 'checking';
    if (isWaiting && now >= this.#patienceUntil) this.#drop('does not answer');
    this.#expire(now);
    if (this.state === 'leaving' && this.#inFlight.size === 0) this.#socket.destroy();
    else if (this.state === 'open' && this.#isSilent(now)) this.#ping(now);
  }

  /** Ends it, with whatever is under way. */
  async destroy(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#session.once('close', resolve));
    this.#drop('is no longer called from here');
    await closed;
  }

  #release(exchange: ApnsExchange): ApnsSessionOwner {
    this.#inFlight.delete(exchange);
    exchange.stream = undefined;
    return this.owner;
  }

  /** A server that goes down resets what it no longer answers, without an error. */
  #fail({ rstCode }: ClientHttp2Stream, exchange: ApnsExchange): void {
    if (rstCode === NGHTTP2_NO_ERROR) this.#drop('ended a request without an answer');
    else this.#reset(rstCode, exchange);
  }

  #reset(code: number, exchange: ApnsExchange): void {
    const words = `reset the request (error code ${code})`;
    if (this.#resets.add(code)) this.#retire(words);
    const owner = this.#release(exchange);
    if (this.state === 'leaving') owner.onLost(this, exchange);
    else if (this.hasAnswered && !exchange.wasReset) {
      exchange.wasReset = true;
      owner.onRepeat(exchange);
    } else owner.onFailure(exchange, words);
  }

  /** What is under way may still be answered. */
  #retire(words: string): void {
    if (this.state === 'leaving') return;
    this.#fault ??= { kind: 'unreachable', words };
    this.#leave();
  }

  #settle(exchange: ApnsExchange): void {
    this.#release(exchange);
    exchange.settle();
    this.#timeouts = 0;
    this.#resets.clear();
    this.#heardAt = performance.now();
    if (this.hasAnswered) return;
    this.hasAnswered = true;
    // Of one that is of no use otherwise it would end the back-off.
    if (this.#fault === undefined) this.owner.onAnswer(this);
  }

  /** RFC 9113, 6.8 and 8.7: beyond the last stream of a GOAWAY, or refused, nothing was processed. */
  #isUntouched({ id, rstCode }: ClientHttp2Stream, exchange: ApnsExchange): boolean {
    if (this.#goAway !== undefined) return id === undefined || id > this.#goAway.lastStreamId;
    if (rstCode !== NGHTTP2_REFUSED_STREAM || exchange.wasReset) return false;
    exchange.wasReset = true;
    return true;
  }

  #expire(now: number): void {
    for (const exchange of this.#inFlight) {
      if (exchange.deadline > now) continue;
      const { stream } = exchange;
      if (exchange.isAnswered) this.#settle(exchange);
      else {
        this.#release(exchange).onFailure(exchange, 'did not answer the request in time');
        this.#timeouts += 1;
      }
      stream?.close(NGHTTP2_CANCEL);
    }
    if (this.#timeouts >= TIMEOUTS_IN_A_ROW) this.#drop('no longer answers requests');
  }

  /**
   * For too long, with or without pushes under way. Node.js can overlook the end of a connection
   * while it writes, and then says nothing more of it.
   */
  #isSilent(now: number): boolean {
    const { pingEvery, silentAfter } = this.limits;
    if (this.#inFlight.size === 0) return now - this.#heardAt >= pingEvery;
    return now - Math.max(this.#heardAt, this.#busySince) >= silentAfter;
  }

  #ping(now: number): void {
    this.state = 'checking';
    this.#patienceUntil = now + this.limits.pingTimeout;
    const isSent = this.#session.ping((error) => {
      if (error !== null || this.state !== 'checking') return;
      this.#heardAt = performance.now();
      this.state = 'open';
      this.owner.onRoom(this);
    });
    if (!isSent) this.#drop('takes no PING');
  }

  #drop(words: string): void {
    this.#fault ??= { kind: 'unreachable', words };
    this.#destroy();
  }

  /** On a dead line Node.js would wait for its last words to be written, or for the peer's. */
  #destroy(): void {
    this.#session.destroy();
    setImmediate(() => this.#socket.destroy());
  }

  #onSettings(maxConcurrentStreams = Number.POSITIVE_INFINITY): void {
    this.limit = Math.min(this.limits.streams, maxConcurrentStreams);
    this.#heardAt = performance.now();
    if (this.state === 'connecting') this.state = 'open';
    this.owner.onRoom(this);
  }

  /** Node.js closes the session then, or destroys it where the code tells of an error. */
  #onGoAway(code: number, lastStreamId: number, data: Uint8Array | undefined): void {
    const { reason } = readRefusal(data && Buffer.from(data));
    this.#goAway = { code, lastStreamId, reason };
    this.#leave();
  }

  #leave(): void {
    if (this.state === 'leaving') return;
    this.state = 'leaving';
    this.owner.onLeave(this);
  }

  #onError(error: Error): void {
    this.#error ??= error;
    this.#destroy();
  }

  #onEnd(): void {
    this.#leave();
    this.owner.onEnd(this);
    for (const exchange of this.#inFlight) {
      const { stream } = exchange;
      if (exchange.isAnswered) this.#settle(exchange);
      else if (stream && this.#goAway && this.#isUntouched(stream, exchange)) {
        this.#release(exchange).onRepeat(exchange);
      } else this.#release(exchange).onLost(this, exchange);
    }
  }
}
