import { createHmac } from 'node:crypto';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { ParsedCertificate } from '../crypto/x509/certificate.js';
import { readOrganization } from '../db/admin/settings-repository.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import {
  insertProfile,
  insertProfileVersion,
  type LockedProfile,
  listPayloadIds,
  listSecretNames,
  lockProfile,
  type ProfilePayloadRecord,
  type ProfileRecord,
  updateProfile,
} from '../db/devices/profile-repository.js';
import { AppError, type Finding } from '../errors.js';
import { platformsOf } from '../protocol/apple/profile-schema.js';
import { profileRefusal, shorten } from '../protocol/profiles/findings.js';
import { type CheckedProfile, checkProfileFile } from './check-file.js';
import { missingSecrets } from './check-variables.js';
import { SealedParts, type VersionPlace } from './sealed-parts.js';

export interface ProfileImportDeps {
  box: SecretBox;
  /** The CAs whose signatures are reported as trusted. */
  anchors: () => readonly ParsedCertificate[];
  /** Checks a large file in another thread; `anchors` are DER. */
  checkInThread?:
    | ((file: { bytes: Buffer; strict: boolean; anchors: Buffer[] }) => Promise<CheckedProfile>)
    | undefined;
}

export interface ImportedProfile {
  id: number;
  outcome: 'created' | 'updated' | 'unchanged';
  /** Number of the version, from 1. */
  version: number;
  /** In the order of the file. */
  payloadIds: number[];
  warnings: Finding[];
  /** HMAC-SHA256 of the file, under a key of this server. */
  digest: Buffer;
}

/** Checking a longer file could hold up the event loop for more than 10 ms. */
const MAX_BYTES_AT_ONCE = 64 * 1024;
/** Retries: between look-up and insert, another request may create or delete the profile. */
const MAX_ATTEMPTS = 5;

/** Stores uploaded configuration profiles: from the bytes of a file to rows. */
export class ProfileImport {
  readonly #anchors: ProfileImportDeps['anchors'];
  readonly #checkInThread: ProfileImportDeps['checkInThread'];
  readonly #parts: SealedParts;
  readonly #digestKey: Buffer;

  constructor({ box, anchors, checkInThread }: ProfileImportDeps) {
    this.#anchors = anchors;
    this.#checkInThread = checkInThread;
    this.#parts = new SealedParts(box);
    this.#digestKey = box.deriveKey('profile-digest');
  }

  /** Reads and checks a file. AppError 422 with every error; if `strict`, with the warnings too. */
  async check(bytes: Buffer, { strict }: { strict: boolean }): Promise<CheckedProfile> {
    const anchors = this.#anchors();
    if (this.#checkInThread === undefined || bytes.length <= MAX_BYTES_AT_ONCE) {
      return checkProfileFile(bytes, { strict, anchors });
    }
    return this.#checkInThread({ bytes, strict, anchors: anchors.map(({ der }) => der) });
  }

  /** Stores a new profile, a new version of a known one, or nothing if the file is unchanged. */
  async store(
    trx: Transaction,
    checked: CheckedProfile,
    uploadedBy: string,
  ): Promise<ImportedProfile> {
    const digest = createHmac('sha256', this.#digestKey).update(checked.bytes).digest();
    await refuseEnrollmentIdentifier(trx, checked);
    const place = await this.#place(trx, checked.record);
    if (place.content_digest?.equals(digest)) {
      const { id, current_version: version, warnings = [] } = place;
      return {
        id,
        outcome: 'unchanged',
        version,
        warnings,
        payloadIds: await listPayloadIds(trx, id),
        digest,
      };
    }
    const { id } = place;
    const number = place.current_version + 1;
    const warnings = await this.#warnings(trx, checked);
    const version = { ...checked, warnings };
    await this.#addVersion(trx, { checked: version, digest, id, number, uploadedBy });
    return {
      id,
      outcome: number === 1 ? 'created' : 'updated',
      version: number,
      payloadIds: await listPayloadIds(trx, id),
      warnings,
      digest,
    };
  }

  /** Those of the file, and the secrets that are not there. AppError 422 if they refuse it. */
  async #warnings(
    trx: Transaction,
    { strict, warnings, variables }: CheckedProfile,
  ): Promise<Finding[]> {
    if (variables.secrets.length === 0) return warnings;
    const names = variables.secrets.map(({ name }) => name);
    const missing = missingSecrets(variables, await listSecretNames(trx, names));
    if (strict && missing.length > 0) throw profileRefusal(missing);
    return shorten([...warnings, ...missing]);
  }

  /** The locked row of the profile; a new one is at version 0. */
  async #place(
    trx: Transaction,
    record: ProfileRecord,
  ): Promise<Partial<LockedProfile> & Pick<LockedProfile, 'id' | 'current_version'>> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const known = await lockProfile(trx, record.identifier);
      if (known) return known;
      const id = await insertProfile(trx, record);
      if (id !== undefined) return { id, current_version: 0 };
    }
    throw new AppError('unavailable', 503, 'others are changing the profile at this moment');
  }

  async #addVersion(
    trx: Transaction,
    version: {
      checked: CheckedProfile;
      digest: Buffer;
      id: number;
      number: number;
      uploadedBy: string;
    },
  ): Promise<void> {
    const { checked, digest, id, number, uploadedBy } = version;
    const { record, signature, bytes } = checked;
    if (number > 1) await updateProfile(trx, id, { ...record, current_version: number });
    const place = { profileId: id, number };
    await insertProfileVersion(
      trx,
      {
        profile_id: id,
        number,
        uuid: record.uuid,
        format: checked.format,
        is_signed: record.is_signed,
        signer: record.signer,
        signer_fingerprint_sha256: signature?.fingerprint_sha256 ?? null,
        signer_is_trusted: signature?.isTrusted ?? null,
        holds_secrets: record.holds_secrets,
        size: bytes.length,
        content_digest: digest,
        sealed_original: this.#parts.seal(bytes, place, 'original'),
        sealed_content: this.#parts.seal(checked.topLevel, place, 'content'),
        warnings: checked.warnings,
        variables: checked.variables.names,
        is_rendered: checked.variables.isRendered,
        is_for_user: checked.isForUser,
        platforms: platformsOf(checked.payloads.map(({ facts }) => facts.payload_type)),
        uploaded_by: uploadedBy,
      },
      this.#payloads(checked, place),
    );
  }

  #payloads({ payloads }: CheckedProfile, place: VersionPlace): ProfilePayloadRecord[] {
    return payloads.map(({ facts, content }, position) => ({
      ...facts,
      sealed_content: this.#parts.seal(content, place, `payloads/${position}`),
    }));
  }
}

/** AppError 422 for a profile with the identifier of the enrollment profile: devices would replace that one. */
async function refuseEnrollmentIdentifier(
  trx: Transaction,
  { record, payloads }: CheckedProfile,
): Promise<void> {
  if (payloads.some(({ facts }) => facts.payload_type === 'com.apple.mdm')) return;
  const { payload_prefix: prefix } = await readOrganization(trx);
  if (record.identifier.toLowerCase() !== `${prefix}.enroll`.toLowerCase()) return;
  const detail =
    `${record.identifier} is the identifier of the profile that enrolls devices here, and this one would ` +
    'take its place on them: give it another one';
  throw profileRefusal([{ pointer: '/PayloadIdentifier', detail }]);
}
