import type { ParsedCertificate } from '../crypto/x509/certificate.js';
import type { ProfilePayloadRecord, ProfileRecord } from '../db/devices/profile-repository.js';
import type { Finding } from '../errors.js';
import { isKnownPayloadType } from '../protocol/apple/profile-schema.js';
import { buildPlistNodes, type PlistNode, type PlistNodeDict } from '../protocol/plist/plist.js';
import { checkProfile } from '../protocol/profiles/check-profile.js';
import { profileRefusal, shorten } from '../protocol/profiles/findings.js';
import { isEncrypted } from '../protocol/profiles/profile-kind.js';
import { type CheckedVariables, checkVariables } from './check-variables.js';
import { encryptedProfile, openProfileFile, type ProfileFile } from './profile-file.js';

/** A file without errors, in the parts that it is stored as. */
export interface CheckedProfile extends Pick<ProfileFile, 'format' | 'signature'> {
  bytes: Buffer;
  /** Whether a warning refuses the file. */
  strict: boolean;
  warnings: Finding[];
  variables: CheckedVariables;
  /** Whether PayloadScope is User. Without PayloadScope, the profile is installed on the device, for all its users. */
  isForUser: boolean;
  record: ProfileRecord;
  /** Property lists: the profile without its payloads, and each of them. */
  topLevel: Buffer;
  payloads: { facts: Omit<ProfilePayloadRecord, 'sealed_content'>; content: Buffer }[];
}

const CUT_DATE = 'the fraction of a second of the date is not kept';

/** Keys whose texts and data are secrets; more than Apple's schema marks. */
export const SECRET_NAME =
  /pass(word|phrase|code)|secret|psk|challenge|token|private_?key|recovery_?key|credential|api_?key|(^|_)pin$/i;

/** Payloads that hold a private key as their content. */
const IDENTITIES = new Set(['com.apple.security.pkcs12', 'com.apple.security.wapi-identity']);

/** Reads and checks a file. AppError 422 with every error; if `strict`, with the warnings too. */
export function checkProfileFile(
  bytes: Buffer,
  { strict, anchors }: { strict: boolean; anchors: readonly ParsedCertificate[] },
): CheckedProfile {
  const { profile, cutDates, format, signature } = openProfileFile(bytes, anchors);
  if (isEncrypted(profile)) throw encryptedProfile();
  const findings = checkProfile(profile);
  for (const at of cutDates) findings.warning(at, CUT_DATE);
  const variables = checkVariables(profile, { isSigned: signature !== undefined, findings });
  const { errors, warnings } = findings;
  const refused = strict ? [...errors, ...warnings] : errors;
  if (refused.length > 0) throw profileRefusal(refused);
  return {
    bytes,
    strict,
    format,
    signature,
    warnings: shorten(warnings),
    variables,
    record: {
      ...profileFacts(profile),
      holds_secrets: holdsSecrets(profile),
      is_signed: signature !== undefined,
      signer: signature?.signer ?? null,
    },
    isForUser: textOf(profile, 'PayloadScope') === 'User',
    topLevel: topLevelOf(profile),
    payloads: payloadsOf(profile).map((payload, position) => ({
      facts: payloadFacts(payload, position),
      content: buildPlistNodes(payload),
    })),
  };
}

/** Whether any payload, at any depth, holds a secret, which only operators may see. */
export function holdsSecrets(profile: PlistNodeDict): boolean {
  const payloads = profile.get('PayloadContent');
  return (Array.isArray(payloads) && payloads.some(isIdentity)) || hasSecret(profile, false);
}

export function isIdentity(payload: PlistNode): boolean {
  const type = payload instanceof Map ? payload.get('PayloadType') : undefined;
  return typeof type === 'string' && IDENTITIES.has(type);
}

/** Flags and numbers with such a name only describe how secrets are handled. */
function hasSecret(node: PlistNode, isNamed: boolean): boolean {
  if (node instanceof Map) {
    return [...node].some(([name, member]) => hasSecret(member, isNamed || SECRET_NAME.test(name)));
  }
  if (Array.isArray(node)) return node.some((element) => hasSecret(element, isNamed));
  return isNamed && (typeof node === 'string' || Buffer.isBuffer(node)) && node.length > 0;
}

function payloadsOf(profile: PlistNodeDict): PlistNodeDict[] {
  const content = profile.get('PayloadContent');
  return Array.isArray(content) ? content.filter((payload) => payload instanceof Map) : [];
}

/** The payloads are stored in separate rows; the empty array keeps their place among the keys. */
function topLevelOf(profile: PlistNodeDict): Buffer {
  return buildPlistNodes(new Map([...profile, ['PayloadContent', []]]));
}

/** The columns that come from the profile itself; the others come from its file. */
type ProfileFacts = Omit<ProfileRecord, 'holds_secrets' | 'is_signed' | 'signer'>;

function profileFacts(profile: PlistNodeDict): ProfileFacts {
  const consent = profile.get('ConsentText');
  return {
    ...namesOf(profile),
    scope: textOf(profile, 'PayloadScope') ?? 'User',
    removal_disallowed: booleanOf(profile, 'PayloadRemovalDisallowed'),
    expiration_date: dateOf(profile, 'PayloadExpirationDate'),
    removal_date: dateOf(profile, 'RemovalDate'),
    duration_until_removal: numberOf(profile.get('DurationUntilRemoval')),
    consent_en: consent instanceof Map ? textOf(consent, 'en') : null,
  };
}

function payloadFacts(
  payload: PlistNodeDict,
  position: number,
): Omit<ProfilePayloadRecord, 'sealed_content'> {
  const payload_type = textOf(payload, 'PayloadType') ?? '';
  return {
    position,
    payload_type,
    ...namesOf(payload),
    is_known: isKnownPayloadType(payload_type),
  };
}

function namesOf(dict: PlistNodeDict) {
  return {
    identifier: textOf(dict, 'PayloadIdentifier') ?? '',
    uuid: textOf(dict, 'PayloadUUID') ?? '',
    version: numberOf(dict.get('PayloadVersion')) ?? 1,
    display_name: textOf(dict, 'PayloadDisplayName'),
    description: textOf(dict, 'PayloadDescription'),
    organization: textOf(dict, 'PayloadOrganization'),
  };
}

function textOf(dict: PlistNodeDict, key: string): string | null {
  const value = dict.get(key);
  return typeof value === 'string' ? value : null;
}

function booleanOf(dict: PlistNodeDict, key: string): boolean | null {
  const value = dict.get(key);
  return typeof value === 'boolean' ? value : null;
}

function dateOf(dict: PlistNodeDict, key: string): Date | null {
  const value = dict.get(key);
  return value instanceof Date ? value : null;
}

function numberOf(value: PlistNode | undefined): number | null {
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'number' ? value : null;
}
