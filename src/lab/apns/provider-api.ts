import { randomUUID } from 'node:crypto';
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AnswerRules } from './answer-rules.js';
import { type Refusal, refusal, type ServerAnswer, sendAnswer } from './push-answer.js';
import {
  headerFault,
  MAX_PAYLOAD_BYTES,
  type Pusher,
  readPayload,
  tokenOf,
} from './push-checks.js';
import type { PushCounts } from './push-counts.js';
import type { TokenStore } from './token-store.js';

export interface ProviderApiOptions {
  store: TokenStore;
  rules: AnswerRules;
  counts: PushCounts;
}

const NOTHING = Buffer.alloc(0);

/** APNs as its providers see it: checks and answers their pushes, and stores the accepted ones. */
export class ProviderApi {
  readonly #options: ProviderApiOptions;

  constructor(options: ProviderApiOptions) {
    this.#options = options;
  }

  /** Reads the payload, up to the size limit, and answers. */
  receive(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, pusher: Pusher): void {
    let body: Buffer = NOTHING;
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => {
      if (body.length > MAX_PAYLOAD_BYTES) return;
      body = body === NOTHING ? chunk : Buffer.concat([body, chunk]);
      if (body.length <= MAX_PAYLOAD_BYTES) return;
      const fault = headerFault(headers, pusher) ?? refusal(413, 'PayloadTooLarge');
      this.#answer(stream, headers, { refusal: fault });
      stream.once('finish', () => stream.close(constants.NGHTTP2_NO_ERROR));
    });
    stream.on('end', () => {
      if (!stream.headersSent) this.#handle(stream, headers, { pusher, body });
    });
  }

  #handle(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    { pusher, body }: { pusher: Pusher; body: Buffer },
  ): void {
    const found = checkPush(headers, pusher, body);
    if (typeof found !== 'string') {
      this.#answer(stream, headers, { refusal: found });
      return;
    }
    const token = tokenOf(headers[':path'] ?? '');
    const topic = pusher.topic ?? '';
    const fault = this.#tokenFault(token, topic);
    const ruled = this.#options.rules.next(token, topic);
    const answer = { ...ruled, refusal: ruled?.refusal ?? fault };
    const apnsId = this.#answer(stream, headers, answer);
    if (answer.refusal !== undefined) return;
    const expiration = Number(headers['apns-expiration'] ?? 0);
    this.#options.store.accept({ token, topic, mdm: found, apnsId, expiration });
  }

  #tokenFault(token: string, topic: string): Refusal | undefined {
    const { store } = this.#options;
    const timestamp = store.goneAt(token);
    if (timestamp !== undefined) return { ...refusal(410, 'Unregistered'), timestamp };
    const ofDevice = store.topicOf(token);
    if (ofDevice === undefined || ofDevice === topic) return undefined;
    return refusal(400, 'DeviceTokenNotForTopic');
  }

  /** Returns the push's id: the client's, or a new one. */
  #answer(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, answer: ServerAnswer): string {
    const given = headers['apns-id'];
    const isMessageId = typeof given === 'string' && answer.refusal?.reason !== 'BadMessageId';
    const apnsId = isMessageId ? given : randomUUID();
    this.#options.counts.count(answer.refusal);
    sendAnswer(stream, apnsId, answer);
    return apnsId;
  }
}

/** The push magic of a valid push, or the refusal. */
function checkPush(headers: IncomingHttpHeaders, pusher: Pusher, body: Buffer): string | Refusal {
  return headerFault(headers, pusher) ?? readPayload(body);
}
