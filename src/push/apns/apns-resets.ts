import { constants } from 'node:http2';

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_REFUSED_STREAM } = constants;

const TOO_MUCH = 10;
const USUAL_WEIGHT = 5;
/**
 * RFC 9113, 7. "Calm" means the connection as a whole, and there are servers that take nothing more
 * on it then. The other two may each have to do with one request only.
 */
const WEIGHTS: Readonly<Record<number, number>> = {
  [NGHTTP2_ENHANCE_YOUR_CALM]: TOO_MUCH,
  [NGHTTP2_REFUSED_STREAM]: 1,
  [NGHTTP2_CANCEL]: 1,
};

/** Requests of one connection that the service has reset since its last answer. */
export class ApnsResets {
  #weight = 0;

  /** One more. Returns whether the connection is of no use any more. */
  add(code: number): boolean {
    this.#weight += WEIGHTS[code] ?? USUAL_WEIGHT;
    return this.#weight >= TOO_MUCH;
  }

  /** The service has answered. */
  clear(): void {
    this.#weight = 0;
  }
}
