import type { ProfilePayloadRecord, ProfileRecord } from '../db/devices/profile-repository.js';
import { isKnownPayloadType } from '../protocol/apple/profile-schema.js';
import type { PlistNode, PlistNodeDict } from '../protocol/plist/plist.js';

/** What the columns of a checked profile hold, but for what its file tells. */
export type ProfileFacts = Omit<ProfileRecord, 'holds_secrets' | 'is_signed' | 'signer'>;

export function profileFacts(profile: PlistNodeDict): ProfileFacts {
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

export function payloadFacts(
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
