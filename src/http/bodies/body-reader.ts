import type { IncomingMessage } from 'node:http';
import { ipKeyGenerator } from 'express-rate-limit';
import { createWarner, type Logger, type Warner } from '../../logger.js';
import type { ProxyTrust } from '../requests/trust-proxy.js';
import { BodyBudget, type BodyShare } from './body-budget.js';
import { readBody } from './raw-body.js';

const MIB = 1024 * 1024;

export interface BodyLimits {
  /** Bytes of all bodies together. */
  bytes: number;
  /** Bytes of all bodies from one address. */
  addressBytes: number;
  /** Bytes of all bodies from one signer, or one admin. */
  senderBytes: number;
  silentMs: number;
}

/** Room for the largest report of a device, also in parts of one packet each. */
export const BODY_LIMITS: BodyLimits = {
  bytes: 32 * MIB,
  addressBytes: 16 * MIB,
  senderBytes: 12 * MIB,
  silentMs: 1_000,
};

/** Uploads of admins: six of the largest from one of them. */
export const UPLOAD_LIMITS: BodyLimits = { ...BODY_LIMITS, bytes: 64 * MIB, senderBytes: 32 * MIB };

export interface BodyReaderDeps {
  proxies: ProxyTrust;
  logger: Logger;
  limits?: BodyLimits | undefined;
}

function warnOfRefusal(warn: Warner, share: BodyShare | undefined, total: number): void {
  if (share === undefined) {
    const message =
      `request bodies: ${megabytes(total)} of unfinished bodies are in memory, the most for this ` +
      'process; requests are answered 503 until some end. If it lasts, limit connections at the ' +
      'firewall or proxy, or add processes';
    warn({ bytes: total }, message, 'total');
    return;
  }
  const message =
    `request bodies: ${megabytes(share.bytes)} of unfinished bodies of one sender are in memory, the ` +
    'most for one; its requests are answered 503. If it is your reverse proxy, set TRUST_PROXY; if ' +
    'it is no sender of yours, block it at the firewall';
  warn({ sender: share.key, bytes: share.bytes }, message, 'share');
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

/** Reads request bodies within one budget for the process. */
export class BodyReader {
  readonly #proxies: ProxyTrust;
  readonly #limits: BodyLimits;
  readonly #budget: BodyBudget;

  constructor({ proxies, logger, limits = BODY_LIMITS }: BodyReaderDeps) {
    this.#proxies = proxies;
    this.#limits = limits;
    const warn = createWarner(logger);
    const { bytes, silentMs } = limits;
    const onRefusal = (share: BodyShare | undefined) => warnOfRefusal(warn, share, bytes);
    this.#budget = new BodyBudget({ bytes, silentMs, onRefusal });
  }

  /**
   * The whole body, at most `limit` bytes. It counts against the share of `sender` if that is known,
   * else of the source address. Rejects with AppError as `readBody`, and 503 when too many bytes of
   * bodies are in memory.
   */
  read(req: IncomingMessage, limit: number, sender?: string): Promise<Buffer> {
    return readBody(req, limit, (refuse) => this.#budget.open(this.#shareOf(req, sender), refuse));
  }

  #shareOf(req: IncomingMessage, sender: string | undefined): BodyShare {
    if (sender !== undefined) return { key: sender, bytes: this.#limits.senderBytes };
    const address = this.#proxies.sourceAddress(req);
    // An IPv6 client owns a whole block of addresses.
    const key = address === null ? 'address unknown' : `address ${ipKeyGenerator(address)}`;
    return { key, bytes: this.#limits.addressBytes };
  }
}
