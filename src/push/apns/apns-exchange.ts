import type { ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import {
  type ApnsAnswer,
  type ApnsPush,
  MAX_ANSWER_BODY,
  pushHeaders,
  pushPayload,
  readAnswer,
} from '../../protocol/apns.js';

export interface Settlement {
  resolve: (answer: ApnsAnswer) => void;
  reject: (error: Error) => void;
}

/** One push on its way to an answer, by one stream after another if need be. */
export class ApnsExchange {
  readonly headers: OutgoingHttpHeaders;
  readonly payload: string;
  readonly resolve: Settlement['resolve'];
  readonly reject: Settlement['reject'];
  /** The stream of the attempt under way. */
  stream: ClientHttp2Stream | undefined;
  /** Of the attempt under way, on the clock of performance.now(). */
  deadline = 0;
  /** Repeated, since its stream was refused or reset on a connection that goes on. */
  wasReset = false;
  /** Repeated, since its connection did not go on. */
  wasLost = false;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #body: Buffer | undefined;

  constructor(
    push: ApnsPush,
    /** Of the push as a whole, on the clock of performance.now(). */
    readonly expiresAt: number,
    { resolve, reject }: Settlement,
  ) {
    this.headers = pushHeaders(push);
    this.payload = pushPayload(push.pushMagic);
    this.resolve = resolve;
    this.reject = reject;
  }

  get isAnswered(): boolean {
    return this.#status !== 0;
  }

  begin(stream: ClientHttp2Stream, deadline: number): void {
    this.stream = stream;
    this.deadline = Math.min(deadline, this.expiresAt);
    this.#status = 0;
    this.#body = undefined;
  }

  takeHeaders(headers: IncomingHttpHeaders & { ':status'?: number }): void {
    this.#status = headers[':status'] ?? 0;
    this.#headers = headers;
  }

  /** False when the body is longer than any answer. */
  takeBody(chunk: Buffer): boolean {
    if (this.#body === undefined) this.#body = chunk;
    else if (this.#body.length <= MAX_ANSWER_BODY) this.#body = Buffer.concat([this.#body, chunk]);
    return this.#body.length <= MAX_ANSWER_BODY;
  }

  settle(): void {
    this.resolve(readAnswer(this.#status, this.#headers, this.#body));
  }
}
