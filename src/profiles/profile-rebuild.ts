import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import {
  findProfileVersion,
  readSealedContent,
  readSealedOriginal,
  type StoredVersion,
} from '../db/devices/profile-repository.js';
import { AppError, notFound } from '../errors.js';
import { buildPlistNodes, parsePlistNodes } from '../protocol/plist/plist.js';
import { SealedParts, type VersionPlace } from './sealed-parts.js';

/** The stored parts come from files within their own limits; in XML they take more space. */
const LIMITS = { maxBytes: 256 * 1024 * 1024, maxNodes: 1_000_000, maxReferences: 10_000_000 };
/** Joining more could hold up the event loop for more than 10 ms. */
const MOST_BYTES_AT_ONCE = 64 * 1024;

export interface ProfileRebuildDeps {
  box: SecretBox;
  /** Signs a profile; returns undefined while the server has no certificate. */
  sign: (profile: Buffer) => Buffer | undefined;
  /** Joins a large profile in another thread. */
  joinInThread?: ((parts: ProfileParts) => Promise<Buffer>) | undefined;
}

export interface FileChoice {
  /** rebuilt: from the rows; signed: rebuilt and signed; original: the uploaded bytes. */
  form: 'rebuilt' | 'signed' | 'original';
}

/** Builds the files of profiles from their rows. */
export class ProfileRebuild {
  readonly #parts: SealedParts;
  readonly #sign: ProfileRebuildDeps['sign'];
  readonly #joinInThread: ProfileRebuildDeps['joinInThread'];

  constructor({ box, sign, joinInThread }: ProfileRebuildDeps) {
    this.#parts = new SealedParts(box);
    this.#sign = sign;
    this.#joinInThread = joinInThread;
  }

  /** The version with that number, or the current one. AppError 404. */
  async version(trx: Transaction, id: number, number?: number): Promise<StoredVersion> {
    const version = await findProfileVersion(trx, id, number);
    if (version) return version;
    throw notFound(number === undefined ? `profiles ${id}` : `version ${number} of profiles ${id}`);
  }

  /** AppError 409 if it is to be signed and the server has no certificate. */
  async file(
    trx: Transaction,
    profileId: number,
    { id, number, form }: StoredVersion & FileChoice,
  ): Promise<Buffer> {
    const place: VersionPlace = { profileId, number };
    if (form === 'original') {
      return this.#parts.open(await readSealedOriginal(trx, id), place, 'original');
    }
    const rebuilt = await this.#rebuild(trx, id, place);
    return form === 'signed' ? this.#signed(rebuilt) : rebuilt;
  }

  #signed(profile: Buffer): Buffer {
    const signed = this.#sign(profile);
    if (signed !== undefined) return signed;
    const message =
      'the server has no certificate to sign profiles with: set TLS_CERT_FILE, or POST one with ' +
      'its private key to /api/v1/ssl_certificates';
    throw new AppError('conflict', 409, message);
  }

  async #rebuild(trx: Transaction, id: number, place: VersionPlace): Promise<Buffer> {
    const sealed = await readSealedContent(trx, id);
    const parts: ProfileParts = {
      topLevel: this.#parts.open(sealed.content, place, 'content'),
      payloads: sealed.payloads.map((payload, position) =>
        this.#parts.open(payload, place, `payloads/${position}`),
      ),
    };
    const bytes = parts.payloads.reduce((sum, { length }) => sum + length, parts.topLevel.length);
    const isLarge = bytes > MOST_BYTES_AT_ONCE;
    return isLarge && this.#joinInThread ? this.#joinInThread(parts) : joinProfile(parts);
  }
}

/** A profile as it is stored: property lists of its top level and of each payload. */
export interface ProfileParts {
  topLevel: Buffer;
  payloads: Buffer[];
}

/** The property list of the whole profile. */
export function joinProfile({ topLevel, payloads }: ProfileParts): Buffer {
  const profile = parsePlistNodes(topLevel, LIMITS);
  if (!(profile instanceof Map)) throw new Error('a stored profile is no dictionary');
  const parts = payloads.map((payload) => parsePlistNodes(payload, LIMITS));
  // The key exists already, so that it keeps its place.
  return buildPlistNodes(profile.set('PayloadContent', parts));
}
