import type { ParsedCertificate } from '../crypto/x509/certificate.js';
import type { ProfilePayloadRecord, ProfileRecord } from '../db/devices/profile-repository.js';
import { buildPlistNodes, type PlistNodeDict } from '../protocol/plist/plist.js';
import { checkProfile } from './check-profile.js';
import { type Finding, profileRefusal, worthTelling } from './findings.js';
import { encryptedProfile, openProfileFile, type ProfileFile } from './profile-file.js';
import { payloadFacts, profileFacts } from './profile-record.js';
import { holdsSecrets } from './profile-secrets.js';

/** A file that may be stored, in the parts that it is stored in. */
export interface CheckedProfile extends Pick<ProfileFile, 'format' | 'signature'> {
  bytes: Buffer;
  warnings: Finding[];
  record: ProfileRecord;
  /** Property lists: the profile without its payloads, and each of them. */
  topLevel: Buffer;
  payloads: { facts: Omit<ProfilePayloadRecord, 'sealed_content'>; content: Buffer }[];
}

const CUT_DATE = 'the fraction of a second of the date is not kept';

/** Reads and judges a file. AppError 422 naming everything wrong; with `strict` warnings too. */
export function checkProfileFile(
  bytes: Buffer,
  { strict, anchors }: { strict: boolean; anchors: readonly ParsedCertificate[] },
): CheckedProfile {
  const { profile, cutDates, format, signature } = openProfileFile(bytes, anchors);
  if (profile.has('EncryptedPayloadContent') || profile.get('IsEncrypted') === true) {
    throw encryptedProfile();
  }
  const findings = checkProfile(profile);
  for (const at of cutDates) findings.warning(at, CUT_DATE);
  const { errors, warnings } = findings;
  const refused = strict ? [...errors, ...warnings] : errors;
  if (refused.length > 0) throw profileRefusal(refused);
  return {
    bytes,
    format,
    signature,
    warnings: worthTelling(warnings),
    record: {
      ...profileFacts(profile),
      holds_secrets: holdsSecrets(profile),
      is_signed: signature !== undefined,
      signer: signature?.signer ?? null,
    },
    topLevel: topLevelOf(profile),
    payloads: payloadsOf(profile).map((payload, position) => ({
      facts: payloadFacts(payload, position),
      content: buildPlistNodes(payload),
    })),
  };
}

function payloadsOf(profile: PlistNodeDict): PlistNodeDict[] {
  const content = profile.get('PayloadContent');
  return Array.isArray(content) ? content.filter((payload) => payload instanceof Map) : [];
}

/** The payloads have rows of their own; the empty array keeps their place among the keys. */
function topLevelOf(profile: PlistNodeDict): Buffer {
  return buildPlistNodes(new Map([...profile, ['PayloadContent', []]]));
}
