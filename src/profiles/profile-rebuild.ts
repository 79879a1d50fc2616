import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import {
  findProfileVersion,
  readSealedContent,
  readSealedOriginal,
  type StoredVersion,
} from '../db/devices/profile-repository.js';
import { AppError, notFound } from '../errors.js';
import { buildPlistNodes } from '../protocol/plist/plist.js';
import { diffProfiles, type ProfileDiff } from './profile-diff.js';
import { type ProfileParts, readParts, sizeOfParts } from './profile-parts.js';
import { SealedParts, type VersionPlace } from './sealed-parts.js';

/** Joining more could hold up the event loop for more than 10 ms. */
const MAX_BYTES_AT_ONCE = 64 * 1024;

export interface ProfileRebuildDeps {
  box: SecretBox;
  /** Signs a profile; returns undefined while the server has no certificate. */
  sign: (profile: Buffer) => Buffer | undefined;
  /** Joins a large profile in another thread. */
  joinInThread?: ((parts: PartsToJoin) => Promise<Buffer>) | undefined;
  /** Compares large versions in another thread. */
  diffInThread?: ((versions: ComparedParts) => Promise<ProfileDiff>) | undefined;
}

/** The parts of two versions. */
export interface ComparedParts {
  from: ProfileParts;
  to: ProfileParts;
}

/** A stored version. */
export type VersionId = Pick<StoredVersion, 'id' | 'number'>;

export interface FileChoice {
  /** rebuilt: from the rows; signed: rebuilt and signed; original: the uploaded bytes. */
  form: 'rebuilt' | 'signed' | 'original';
  /** The PayloadUUID of a rebuilt file, in place of that of the upload. */
  uuid?: string | undefined;
}

/** Builds the files of profiles from their rows. */
export class ProfileRebuild {
  readonly #parts: SealedParts;
  readonly #sign: ProfileRebuildDeps['sign'];
  readonly #joinInThread: ProfileRebuildDeps['joinInThread'];
  readonly #diffInThread: ProfileRebuildDeps['diffInThread'];

  constructor({ box, sign, joinInThread, diffInThread }: ProfileRebuildDeps) {
    this.#parts = new SealedParts(box);
    this.#sign = sign;
    this.#joinInThread = joinInThread;
    this.#diffInThread = diffInThread;
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
    { id, number, form, uuid }: VersionId & FileChoice,
  ): Promise<Buffer> {
    const place: VersionPlace = { profileId, number };
    if (form === 'original') {
      return this.#parts.open(await readSealedOriginal(trx, id), place, 'original');
    }
    const rebuilt = await this.#rebuild(trx, { id, uuid }, place);
    return form === 'signed' ? this.#signed(rebuilt) : rebuilt;
  }

  /** The keys that differ between two versions of a profile. AppError 404. */
  async diff(
    trx: Transaction,
    profileId: number,
    { from, to }: { from: number; to: number },
  ): Promise<ProfileDiff> {
    const partsOf = async (number: number) => {
      const { id } = await this.version(trx, profileId, number);
      return this.#partsOf(trx, id, { profileId, number });
    };
    const versions = { from: await partsOf(from), to: await partsOf(to) };
    const bytes = sizeOfParts(versions.from) + sizeOfParts(versions.to);
    if (this.#diffInThread !== undefined && bytes > MAX_BYTES_AT_ONCE) {
      return this.#diffInThread(versions);
    }
    return diffProfiles(versions.from, versions.to);
  }

  #signed(profile: Buffer): Buffer {
    const signed = this.#sign(profile);
    if (signed !== undefined) return signed;
    const message =
      'the server has no certificate to sign profiles with: set TLS_CERT_FILE, or POST one with ' +
      'its private key to /api/v1/ssl_certificates';
    throw new AppError('conflict', 409, message);
  }

  async #rebuild(
    trx: Transaction,
    { id, uuid }: { id: number; uuid: string | undefined },
    place: VersionPlace,
  ): Promise<Buffer> {
    const parts = await this.#partsOf(trx, id, place);
    const isLarge = sizeOfParts(parts) > MAX_BYTES_AT_ONCE;
    const isInThread = isLarge && this.#joinInThread !== undefined;
    return isInThread ? this.#joinInThread({ ...parts, uuid }) : joinProfile({ ...parts, uuid });
  }

  async #partsOf(trx: Transaction, id: number, place: VersionPlace): Promise<ProfileParts> {
    const sealed = await readSealedContent(trx, id);
    return {
      topLevel: this.#parts.open(sealed.content, place, 'content'),
      payloads: sealed.payloads.map((payload, position) =>
        this.#parts.open(payload, place, `payloads/${position}`),
      ),
    };
  }
}

/** The parts of a profile, and what becomes of them. */
export interface PartsToJoin extends ProfileParts {
  /** In place of the PayloadUUID of the top level. */
  uuid?: string | undefined;
}

/** The property list of the whole profile. */
export function joinProfile({ uuid, ...parts }: PartsToJoin): Buffer {
  const { topLevel: profile, payloads } = readParts(parts);
  // The keys exist already, so that they keep their places.
  if (uuid !== undefined) profile.set('PayloadUUID', uuid);
  return buildPlistNodes(profile.set('PayloadContent', payloads));
}
