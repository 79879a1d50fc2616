import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import {
  type ApnsAnswer,
  type ApnsPush,
  MAX_ANSWER_BODY,
  pushHeaders,
  pushPayload,
  readAnswer,
} from '../../protocol/apns.js';

export interface PushPromise {
  resolve: (answer: ApnsAnswer) => void;
  reject: (error: Error) => void;
}

type ResponseHeaders = IncomingHttpHeaders & { ':status'?: number };

/** One push and its answer, over several streams in turn if it has to be repeated. */
export class ApnsExchange {
  readonly headers: OutgoingHttpHeaders;
  readonly payload: string;
  readonly resolve: PushPromise['resolve'];
  readonly reject: PushPromise['reject'];
  /** The stream of the attempt under way. */
  stream: ClientHttp2Stream | undefined;
  /** Deadline of the current attempt, on the clock of performance.now(). */
  deadline = 0;
  /** Repeated because its stream was refused or reset while the connection stayed open. */
  wasReset = false;
  /** Repeated because its connection was lost. */
  wasLost = false;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #body: Buffer | undefined;

  constructor(
    push: ApnsPush,
    /** Deadline of the whole push, on the clock of performance.now(). */
    readonly expiresAt: number,
    { resolve, reject }: PushPromise,
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

  addHeaders(headers: ResponseHeaders): void {
    this.#status = headers[':status'] ?? 0;
    this.#headers = headers;
  }

  /** False when the body is longer than any answer. */
  addBody(chunk: Buffer): boolean {
    if (this.#body === undefined) this.#body = chunk;
    else if (this.#body.length <= MAX_ANSWER_BODY) this.#body = Buffer.concat([this.#body, chunk]);
    return this.#body.length <= MAX_ANSWER_BODY;
  }

  /** Resolves the push with the answer received. */
  complete(): void {
    this.resolve(readAnswer(this.#status, this.#headers, this.#body));
  }
}

export interface ApnsStreamOwner {
  /** A stream has closed, for whatever reason. */
  onStreamClosed(stream: ClientHttp2Stream, exchange: ApnsExchange): void;
}

const OWNER = Symbol('owner');
const EXCHANGE = Symbol('exchange');
const REQUEST = { endStream: false } as const;

/** Thousands a second: the stream carries what its handlers need, so that they are no closures. */
type PushStream = ClientHttp2Stream & { [OWNER]: ApnsStreamOwner; [EXCHANGE]: ApnsExchange };

/** Sends the request of one push. */
export function openStream(
  session: ClientHttp2Session,
  exchange: ApnsExchange,
  owner: ApnsStreamOwner,
): ClientHttp2Stream {
  const stream = session.request(exchange.headers, REQUEST) as PushStream;
  stream[OWNER] = owner;
  stream[EXCHANGE] = exchange;
  stream.on('response', onResponse).on('data', onData);
  stream.on('close', onClose).on('error', ignore);
  stream.end(exchange.payload);
  return stream;
}

function onResponse(this: PushStream, headers: ResponseHeaders): void {
  this[EXCHANGE].addHeaders(headers);
}

function onData(this: PushStream, chunk: Buffer): void {
  if (!this[EXCHANGE].addBody(chunk)) this.close(constants.NGHTTP2_CANCEL);
}

function onClose(this: PushStream): void {
  this[OWNER].onStreamClosed(this, this[EXCHANGE]);
}

/** The close event that follows an error handles it. */
function ignore(): void {}
