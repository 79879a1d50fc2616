import type { SecretBox } from '../crypto/secret-box.js';
import {
  findProfileVersion,
  readSealedContent,
  readSealedOriginal,
  type StoredVersion,
} from '../db/profile-repository.js';
import type { Transaction } from '../db/unit-of-work.js';
import { AppError, notFound } from '../errors.js';
import { buildPlistNodes, type PlistNode, parsePlistNodes } from '../protocol/plist.js';
import { SealedParts, type VersionPlace } from './sealed-parts.js';

/** Written by us out of files within their own limits; text takes more room in XML. */
const LIMITS = { maxBytes: 256 * 1024 * 1024, maxNodes: 1_000_000 };

export interface ProfileRebuildDeps {
  box: SecretBox;
  /** Signs what leaves; gives undefined while the server has no certificate of its own. */
  sign: (profile: Buffer) => Buffer | undefined;
}

export interface FileChoice {
  /** rebuilt = from the rows; original = the bytes that were uploaded. */
  form: 'rebuilt' | 'signed' | 'original';
}

/** Gives profiles back: from rows to the bytes of a file. */
export class ProfileRebuild {
  readonly #parts: SealedParts;
  readonly #sign: ProfileRebuildDeps['sign'];

  constructor({ box, sign }: ProfileRebuildDeps) {
    this.#parts = new SealedParts(box);
    this.#sign = sign;
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
    const { content, payloads } = await readSealedContent(trx, id);
    const profile = this.#nodes(this.#parts.open(content, place, 'content'));
    if (!(profile instanceof Map)) throw new Error('a stored profile is no dictionary');
    const parts = payloads.map((sealed, position) =>
      this.#nodes(this.#parts.open(sealed, place, `payloads/${position}`)),
    );
    // A key that is there already keeps its place.
    return buildPlistNodes(profile.set('PayloadContent', parts));
  }

  #nodes(bytes: Buffer): PlistNode {
    return parsePlistNodes(bytes, LIMITS);
  }
}
