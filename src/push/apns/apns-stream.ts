import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import type { ApnsExchange } from './apns-exchange.js';

/** Who wants to know that a stream is over. */
export interface ApnsStreamOwner {
  /** The end of a stream, whatever it was. */
  finish(stream: ClientHttp2Stream, exchange: ApnsExchange): void;
}

const OWNER = Symbol('owner');
const EXCHANGE = Symbol('exchange');
const REQUEST = { endStream: false } as const;

/** Thousands a second: the stream carries what its handlers need, so that they are no closures. */
type PushStream = ClientHttp2Stream & { [OWNER]: ApnsStreamOwner; [EXCHANGE]: ApnsExchange };

function onResponse(this: PushStream, headers: Parameters<ApnsExchange['takeHeaders']>[0]): void {
  this[EXCHANGE].takeHeaders(headers);
}

function onData(this: PushStream, chunk: Buffer): void {
  if (!this[EXCHANGE].takeBody(chunk)) this.close(constants.NGHTTP2_CANCEL);
}

function onClose(this: PushStream): void {
  this[OWNER].finish(this, this[EXCHANGE]);
}

/** What an error means is judged when the stream closes, which follows. */
function ignore(): void {}

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
