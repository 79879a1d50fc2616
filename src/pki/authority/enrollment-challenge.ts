import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import { AppError } from '../../errors.js';

const VERSION = 1;
/** As version 1, with the renewed device between header and serial number. */
const RENEWAL_VERSION = 2;
/** As version 1, with the ids of the enrollment request and of the link behind the header. */
const ENROLLMENT_VERSION = 3;
/** As version 3, for the certificate that signs the second phase over the air. */
const EXCHANGE_VERSION = 4;
const NONCE_BYTES = 16;
const MAC_BYTES = 32;
/** Version, nonce, expiry in seconds as 48 bits. */
const HEADER_BYTES = 1 + NONCE_BYTES + 6;
/** Device id as 48 bits, number of the enrollment as 32. */
const RENEWAL_BYTES = 6 + 4;
/** Ids of the request and of the link as 48 bits each; 0 for none. */
const ENROLLMENT_BYTES = 6 + 6;
const MAX_CHALLENGE_CHARS = 128;
const DEFAULT_LIFE_MS = 24 * 60 * 60 * 1000;

/** The one enrollment whose identity is renewed. */
export interface RenewedEnrollment {
  deviceId: number;
  enrollmentNumber: number;
}

export interface ChallengeOptions {
  expiresAt?: Date;
  renewal?: RenewedEnrollment;
  /** Row of `enrollment_requests`: the one device, or account, that it is bound to. */
  requestId?: number | undefined;
  /** Row of `enrollment_links`: the invitation that it was issued for. */
  linkId?: number | undefined;
  /** Its certificate only continues the over-the-air exchange; it enrolls no device. */
  isExchange?: boolean | undefined;
}

export interface EnrollmentChallenge extends ChallengeOptions {
  /** Identifies the challenge in the record of its use. */
  nonce: Buffer;
  expiresAt: Date;
}

export interface EnrollmentChallengesDeps {
  box: SecretBox;
  /** A challenge of one surface is invalid at the other. */
  surface?: 'scep' | 'ota';
  now?: () => Date;
}

/**
 * Enrollment challenges as signed text of at most 128 printable characters. Issuing one stores
 * nothing, so an anonymous GET of a profile writes no row; only its use is recorded.
 */
export class EnrollmentChallenges {
  readonly #key: Buffer;
  readonly #now: () => Date;

  constructor({ box, surface = 'scep', now = () => new Date() }: EnrollmentChallengesDeps) {
    this.#key = box.deriveKey(`${surface}-challenge`);
    this.#now = now;
  }

  /** Valid for 24 hours unless `expiresAt` is set. */
  issueChallenge(options: ChallengeOptions = {}): string {
    const expiresAt = options.expiresAt ?? new Date(this.#now().getTime() + DEFAULT_LIFE_MS);
    const nonce = randomBytes(NONCE_BYTES);
    const payload = encode({ ...options, nonce, expiresAt });
    return toText(Buffer.concat([payload, this.#macOf(payload)]));
  }

  /** @throws AppError `forbidden` 403, one message for every fault, the reason as cause */
  readChallenge(text: string): EnrollmentChallenge {
    const bytes = bytesOf(text);
    const payload = bytes.subarray(0, -MAC_BYTES);
    if (!timingSafeEqual(this.#macOf(payload), bytes.subarray(-MAC_BYTES))) {
      throw refused('not ours');
    }
    const challenge = decode(payload);
    if (challenge.expiresAt.getTime() <= this.#now().getTime()) throw refused('expired');
    return challenge;
  }

  #macOf(payload: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(payload).digest();
  }
}

// Unbound challenges keep version 1, which processes that are not upgraded yet can read.
function encode({ nonce, expiresAt, ...options }: EnrollmentChallenge): Buffer {
  const { version, bound } = encodeBound(options);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(version, 0);
  nonce.copy(header, 1);
  header.writeUIntBE(Math.floor(expiresAt.getTime() / 1000), 1 + NONCE_BYTES, 6);
  return Buffer.concat([header, bound]);
}

function encodeBound({ renewal, requestId = 0, linkId = 0, isExchange }: ChallengeOptions) {
  if (renewal !== undefined) return { version: RENEWAL_VERSION, bound: encodeRenewal(renewal) };
  if (requestId === 0 && linkId === 0 && !isExchange) {
    return { version: VERSION, bound: Buffer.alloc(0) };
  }
  const bound = Buffer.alloc(ENROLLMENT_BYTES);
  bound.writeUIntBE(requestId, 0, 6);
  bound.writeUIntBE(linkId, 6, 6);
  return { version: isExchange ? EXCHANGE_VERSION : ENROLLMENT_VERSION, bound };
}

function encodeRenewal({ deviceId, enrollmentNumber }: RenewedEnrollment): Buffer {
  const bytes = Buffer.alloc(RENEWAL_BYTES);
  bytes.writeUIntBE(deviceId, 0, 6);
  bytes.writeUInt32BE(enrollmentNumber, 6);
  return bytes;
}

// Standard base64 without padding is valid as PrintableString, which devices encode challenges as.
function toText(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

// Accepts only the spelling that was issued, since base64 decoders accept others.
function bytesOf(text: string): Buffer {
  const bytes = text.length <= MAX_CHALLENGE_CHARS ? Buffer.from(text, 'base64') : undefined;
  if (bytes === undefined || toText(bytes) !== text)
    throw refused('not in the form of a challenge');
  if (bytes.length < HEADER_BYTES + MAC_BYTES) throw refused('too short');
  return bytes;
}

function refused(reason: string): AppError {
  return new AppError('forbidden', 403, 'the enrollment challenge is not valid', {
    cause: new Error(reason),
  });
}

/** Call it only after the MAC was verified. */
function decode(payload: Buffer): EnrollmentChallenge {
  return {
    nonce: payload.subarray(1, 1 + NONCE_BYTES),
    expiresAt: new Date(payload.readUIntBE(1 + NONCE_BYTES, 6) * 1000),
    ...decodeBound(payload[0], payload.subarray(HEADER_BYTES)),
  };
}

function decodeBound(version: number | undefined, bound: Buffer): ChallengeOptions {
  if (version === VERSION) return {};
  if (version === RENEWAL_VERSION) {
    return {
      renewal: { deviceId: bound.readUIntBE(0, 6), enrollmentNumber: bound.readUInt32BE(6) },
    };
  }
  if (version !== ENROLLMENT_VERSION && version !== EXCHANGE_VERSION) {
    throw refused('unknown version');
  }
  const requestId = bound.readUIntBE(0, 6);
  const linkId = bound.readUIntBE(6, 6);
  return {
    requestId: requestId > 0 ? requestId : undefined,
    linkId: linkId > 0 ? linkId : undefined,
    isExchange: version === EXCHANGE_VERSION ? true : undefined,
  };
}
