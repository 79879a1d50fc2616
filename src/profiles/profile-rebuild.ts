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

/** Written by us out of files within their own limits; text takes more room in XML. */
const LIMITS = { maxBytes: 256 * 1024 * 1024, maxNodes: 1_000_000, maxReferences: 10_000_000 };
/** Joining more could hold up the event loop for more than 10 ms. */
const MOST_BYTES_AT_ONCE = 64 * 1024;

export interface ProfileRebuildDeps {
  box: SecretBox;
  /** Signs what leaves; gives undefined while the server has no certificate of its own. */
  sign: (profile: Buffer) => Buffer | undefined;
  /** Joins a large profile in another thread. */
  joinInThread?: (parts: ProfileParts) => Promise<Buffer>;
}

export interface FileChoice {
  /** rebuilt = from the rows; original = the bytes that were uploaded. */
  form: 'rebuilt' | 'signed' | 'original';
}

/** Gives profiles back: from rows to the bytes of a file. */
export class ProfileRebuild {
  readonly #parts: SealedParts;
  readonly #sign: ProfileRebuildDeps['sign'];
  readonly #joinInThread: ProfileRebuildDeps['joinInThread'];

  constructor({ box, sign, joinInThread }: ProfileRebuildDeps) {
    this.#parts = new SealedParts(box);
    this.#sign = sign;
    this.#joinInThread = joinInThread;
  }

  /** The current version unless told. AppError 404. */
  async version(trx: Transaction, id: number, number?: number): Promise<StoredVersion> {
    const version = await findProfileVersion(trx, id, number);
    if (version) return version;
    throw notFound(number === undefined ? `profiles ${id}` : `version ${number} of profiles ${id}`);
  }

  /** AppError 409 when it cannot be signed. */
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

/** The property lists that a profile is stored as. */
export interface ProfileParts {
  topLevel: Buffer;
  payloads: Buffer[];
}

/** A profile's property list from its parts. */
export function joinProfile({ topLevel, payloads }: ProfileParts): Buffer {
  const profile = parsePlistNodes(topLevel, LIMITS);
  if (!(profile instanceof Map)) throw new Error('a stored profile is no dictionary');
  const parts = payloads.map((payload) => parsePlistNodes(payload, LIMITS));
  // A key that is there already keeps its place.
  return buildPlistNodes(profile.set('PayloadContent', parts));
}
