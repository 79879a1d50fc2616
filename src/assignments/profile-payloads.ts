import { LRUCache } from 'lru-cache';
import { profilePayload } from '../commands/payload.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import {
  findVersions,
  type VersionPayload,
  type VersionToBuild,
} from '../db/assignments/reconcile.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { lockSharedPayload, storeSharedPayloads } from '../db/devices/shared-payloads.js';
import type { Logger } from '../logger.js';
import type { ProfileRebuild } from '../profiles/profile-rebuild.js';

export interface ProfilePayloadDeps {
  box: SecretBox;
  logger: Logger;
  profiles: Pick<ProfileRebuild, 'file'>;
  /** Signs a profile; returns it unchanged if there is no certificate. */
  sign: (profile: Buffer) => Buffer;
}

/** After this time, a payload is built again, so that it is signed with the current server certificate. */
const KEPT_MS = 60 * 60_000;

/** The payloads of InstallProfile: each version of a profile is built and stored once for all devices. */
export class ProfilePayloads {
  readonly #deps: ProfilePayloadDeps;
  readonly #built = new LRUCache<number, Buffer>({ max: 10_000, ttl: KEPT_MS });

  constructor(deps: ProfilePayloadDeps) {
    this.#deps = deps;
  }

  /** Stores the payloads of these versions. Returns them, without those that could not be built. */
  async store(trx: Transaction, versionIds: readonly number[]): Promise<VersionPayload[]> {
    const payloads: VersionPayload[] = [];
    for (const version of await findVersions(trx, versionIds)) {
      const sha256 = await this.#storeOne(trx, version);
      if (sha256 !== undefined) payloads.push({ versionId: version.id, sha256 });
    }
    return payloads;
  }

  async #storeOne(trx: Transaction, version: VersionToBuild): Promise<Buffer | undefined> {
    const known = this.#built.get(version.id);
    if (known !== undefined && (await lockSharedPayload(trx, known))) return known;
    const { box, logger } = this.#deps;
    try {
      const payload = profilePayload(box, await this.#file(trx, version));
      await storeSharedPayloads(trx, [{ ...payload, profile_version_id: version.id }]);
      this.#built.set(version.id, payload.sha256);
      return payload.sha256;
    } catch (error) {
      const { profile_id: profileId, number } = version;
      logger.error(
        { err: error, profileId, version: number },
        'a profile could not be built for its devices; upload it again',
      );
      return undefined;
    }
  }

  /**
   * A signed upload is sent unchanged, with the PayloadUUID that its signer chose. A profile with variables
   * is rendered and signed when a device fetches it.
   */
  async #file(trx: Transaction, version: VersionToBuild): Promise<Buffer> {
    const { profiles, sign } = this.#deps;
    const { profile_id, is_signed, is_rendered, content_digest } = version;
    if (is_signed) return profiles.file(trx, profile_id, { ...version, form: 'original' });
    if (is_rendered) return profiles.file(trx, profile_id, { ...version, form: 'rebuilt' });
    const uuid = installedUuid(content_digest);
    return sign(await profiles.file(trx, profile_id, { ...version, form: 'rebuilt', uuid }));
  }
}

/**
 * The PayloadUUID that devices get in place of the upload's: another version has another one, so that
 * ProfileList shows which is installed. RECONCILE computes the same.
 */
function installedUuid(digest: Buffer): string {
  const hex = digest.toString('hex', 0, 16).toUpperCase();
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
