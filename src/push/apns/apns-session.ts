import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import type { Socket } from 'node:net';
import { readRefusal } from '../../protocol/apns.js';
import type { ApnsConnection } from './apns-connect.js';
import { type ApnsExchange, type ApnsStreamOwner, openStream } from './apns-exchange.js';
import {
  type ApnsFailure,
  ApnsResets,
  connectionFailure,
  type GoAway,
  goAwayFailure,
} from './apns-failures.js';
import type { ApnsLimits } from './apns-limits.js';

/** connecting: until the service's settings arrive; checking: until it answers a PING. */
export type ApnsSessionState = 'connecting' | 'open' | 'checking' | 'leaving';

/** What a session reports to the client that opened it. */
export interface ApnsSessionOwner {
  /** The session can send a push, or more of them than before. */
  onCapacity(session: ApnsSession): void;
  onFirstAnswer(session: ApnsSession): void;
  /** To be sent again: the service did not process this push, or failed on it once. */
  onRetry(exchange: ApnsExchange): void;
  /** Reset by the service, or not answered in time. */
  onFailure(exchange: ApnsExchange, message: string): void;
  /** Once: the session accepts no more pushes, after a GOAWAY or because it is unusable or broken. */
  onLeaving(session: ApnsSession): void;
  /** The connection is closed. */
  onClosed(session: ApnsSession): void;
  /** Its connection was lost: the service may have processed this push or not. */
  onLost(session: ApnsSession, exchange: ApnsExchange): void;
}

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;
const MAX_TIMEOUTS = 2;
const BEFORE_SETTINGS = 0;

/** One connection to the push service. */
export class ApnsSession implements ApnsStreamOwner {
  state: ApnsSessionState = 'connecting';
  /** Most pushes at once, as set by the service. */
  limit = BEFORE_SETTINGS;
  hasAnswered = false;
  #isConnected = false;
  #goAway: GoAway | undefined;
  #failure: ApnsFailure | undefined;
  #error: unknown;
  #timeouts = 0;
  readonly #resets = new ApnsResets();
  #lastContactAt = performance.now();
  #busySince = 0;
  #answerDueAt: number;
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
    this.#answerDueAt = this.#lastContactAt + limits.connectTimeout;
    session.on('remoteSettings', (settings) => this.#onSettings(settings.maxConcurrentStreams));
    session.on('goaway', (code, last, data) => this.#onGoAway(code, last, data));
    session.on('connect', () => {
      this.#isConnected = true;
    });
    session.on('error', (error) => this.#onError(error));
    session.on('close', () => this.#onClose());
    // Node.js reports an alert after our side of the handshake to the socket only.
    socket.on('error', (error) => this.#onError(error));
  }

  get size(): number {
    return this.#inFlight.size;
  }

  /** Ended by the service, with a GOAWAY that names no error. */
  get isGraceful(): boolean {
    return this.#goAway?.code === NGHTTP2_NO_ERROR && this.failure.kind === 'unreachable';
  }

  /** Why it ended. */
  get failure(): ApnsFailure {
    if (this.#failure !== undefined) return this.#failure;
    if (this.#goAway !== undefined) return goAwayFailure(this.#goAway);
    const wasSecure = this.#isConnected;
    return connectionFailure({ error: this.#error, socket: this.#socket, wasSecure });
  }

  /** Whether it can send a push now. After a long silence it sends a PING first and returns false. */
  canSend(now: number): boolean {
    if (this.state !== 'open' || this.#inFlight.size >= this.limit) return false;
    if (this.#session.closed || this.#session.destroyed) return false;
    if (this.#inFlight.size > 0 || now - this.#lastContactAt < this.limits.staleAfter) return true;
    this.#ping(now);
    return false;
  }

  send(exchange: ApnsExchange, now: number): void {
    if (this.#inFlight.size === 0) this.#busySince = now;
    const stream = openStream(this.#session, exchange, this);
    exchange.begin(stream, now + this.limits.requestTimeout);
    this.#inFlight.add(exchange);
  }

  onStreamClosed(stream: ClientHttp2Stream, exchange: ApnsExchange): void {
    if (exchange.stream !== stream || !this.#inFlight.has(exchange)) return;
    if (exchange.isAnswered) this.#complete(exchange);
    else if (this.#isUntouched(stream, exchange)) this.#remove(exchange).onRetry(exchange);
    else if (!this.#socket.destroyed && !this.#session.destroyed) this.#fail(stream, exchange);
    if (this.state === 'open') this.owner.onCapacity(this);
    else if (this.state === 'leaving' && this.#inFlight.size === 0) this.#session.close();
  }

  /** Enforces the time limits. */
  tick(now: number): void {
    const isWaiting = this.state === 'connecting' || this.state === 'checking';
    if (isWaiting && now >= this.#answerDueAt) this.#abort('does not answer');
    this.#expire(now);
    if (this.state === 'leaving' && this.#inFlight.size === 0) this.#socket.destroy();
    else if (this.state === 'open' && this.#isSilent(now)) this.#ping(now);
  }

  /** Ends it and all pushes under way. */
  async destroy(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#session.once('close', resolve));
    this.#abort('is no longer used: this client is closed');
    await closed;
  }

  #remove(exchange: ApnsExchange): ApnsSessionOwner {
    this.#inFlight.delete(exchange);
    exchange.stream = undefined;
    return this.owner;
  }

  /** A server that shuts down resets unanswered requests with NO_ERROR. */
  #fail({ rstCode }: ClientHttp2Stream, exchange: ApnsExchange): void {
    if (rstCode === NGHTTP2_NO_ERROR) this.#abort('ended a request without an answer');
    else this.#reset(rstCode, exchange);
  }

  #reset(code: number, exchange: ApnsExchange): void {
    const message = `reset the request (error code ${code})`;
    if (this.#resets.add(code)) this.#endGracefully(message);
    const owner = this.#remove(exchange);
    if (this.state === 'leaving') owner.onLost(this, exchange);
    else if (this.hasAnswered && !exchange.wasReset) {
      exchange.wasReset = true;
      owner.onRetry(exchange);
    } else owner.onFailure(exchange, message);
  }

  /** Pushes under way may still be answered. */
  #endGracefully(message: string): void {
    if (this.state === 'leaving') return;
    this.#failure ??= { kind: 'unreachable', message };
    this.#leave();
  }

  #complete(exchange: ApnsExchange): void {
    this.#remove(exchange);
    exchange.complete();
    this.#timeouts = 0;
    this.#resets.clear();
    this.#lastContactAt = performance.now();
    if (this.hasAnswered) return;
    this.hasAnswered = true;
    // An answer on a failed session must not end the back-off.
    if (this.#failure === undefined) this.owner.onFirstAnswer(this);
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
      if (exchange.isAnswered) this.#complete(exchange);
      else {
        this.#remove(exchange).onFailure(exchange, 'did not answer the request in time');
        this.#timeouts += 1;
      }
      stream?.close(NGHTTP2_CANCEL);
    }
    if (this.#timeouts >= MAX_TIMEOUTS) this.#abort('no longer answers requests');
  }

  /**
   * Silent for too long, with or without pushes under way. Node.js can miss the end of a connection
   * while it writes, and then never reports it.
   */
  #isSilent(now: number): boolean {
    const { pingEvery, silentAfter } = this.limits;
    if (this.#inFlight.size === 0) return now - this.#lastContactAt >= pingEvery;
    return now - Math.max(this.#lastContactAt, this.#busySince) >= silentAfter;
  }

  #ping(now: number): void {
    this.state = 'checking';
    this.#answerDueAt = now + this.limits.pingTimeout;
    const isSent = this.#session.ping((error) => {
      if (error !== null || this.state !== 'checking') return;
      this.#lastContactAt = performance.now();
      this.state = 'open';
      this.owner.onCapacity(this);
    });
    if (!isSent) this.#abort('accepts no PING');
  }

  #abort(message: string): void {
    this.#failure ??= { kind: 'unreachable', message };
    this.#destroy();
  }

  /** On a dead connection Node.js would wait for its last frames to be written, or for the peer's. */
  #destroy(): void {
    this.#session.destroy();
    setImmediate(() => this.#socket.destroy());
  }

  #onSettings(maxConcurrentStreams = Number.POSITIVE_INFINITY): void {
    this.limit = Math.min(this.limits.streams, maxConcurrentStreams);
    this.#lastContactAt = performance.now();
    if (this.state === 'connecting') this.state = 'open';
    this.owner.onCapacity(this);
  }

  /** Node.js closes the session then, or destroys it if the code is an error. */
  #onGoAway(code: number, lastStreamId: number, data: Uint8Array | undefined): void {
    const { reason } = readRefusal(data && Buffer.from(data));
    this.#goAway = { code, lastStreamId, reason };
    this.#leave();
  }

  #leave(): void {
    if (this.state === 'leaving') return;
    this.state = 'leaving';
    this.owner.onLeaving(this);
  }

  #onError(error: Error): void {
    this.#error ??= error;
    this.#destroy();
  }

  #onClose(): void {
    this.#leave();
    this.owner.onClosed(this);
    for (const exchange of this.#inFlight) {
      const { stream } = exchange;
      if (exchange.isAnswered) this.#complete(exchange);
      else if (stream && this.#goAway && this.#isUntouched(stream, exchange)) {
        this.#remove(exchange).onRetry(exchange);
      } else this.#remove(exchange).onLost(this, exchange);
    }
  }
}
