import { createHash } from 'node:crypto';
import type { DepProfile } from '../../db/dep/dep-profile-repository.js';

const FLAGS = [
  'allow_pairing',
  'is_supervised',
  'is_multi_user',
  'is_mandatory',
  'await_device_configured',
  'is_mdm_removable',
  'auto_advance_setup',
] as const satisfies (keyof DepProfile)[];

const TEXTS = [
  'support_phone_number',
  'support_email_address',
  'org_magic',
  'department',
  'language',
  'region',
  'configuration_web_url',
] as const satisfies (keyof DepProfile)[];

/** The body of Apple's "Define a Profile": no member is null, and no text is empty. */
export type ProfileDefinition = Record<string, boolean | string | string[]>;

/** The members are in alphabetical order, so that equal definitions are equal bytes. */
export function definitionOf(profile: DepProfile, context: DefinitionContext): ProfileDefinition {
  const members: [string, boolean | string | string[] | null][] = [
    ['profile_name', profile.profile_name],
    ['url', urlOf(profile, context)],
    ...[...FLAGS, ...TEXTS].map((name) => [name, profile[name]] as [string, boolean | string]),
    ['anchor_certs', anchorsOf(profile, context)],
    ['supervising_host_certs', profile.supervising_host_certs ?? inBase64(context.supervisors)],
    ['skip_setup_items', profile.skip_setup_items],
  ];
  const sent = members.filter((entry): entry is [string, boolean | string | string[]] => {
    const [, value] = entry;
    return value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);
  });
  return Object.fromEntries(sent.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** SHA-256 of the definition as it is sent. */
export function digestOf(definition: ProfileDefinition): Buffer {
  return createHash('sha256').update(JSON.stringify(definition)).digest();
}

/** Where devices ask for their enrollment profile. */
export function urlOf(profile: DepProfile, { enrollmentUrl }: DefinitionContext): string {
  return profile.follows_public_url ? enrollmentUrl : profile.url;
}

export function hasSameOrigin(url: string, other: string): boolean {
  return new URL(url).origin === new URL(other).origin;
}

/** What the server itself contributes to definitions. */
export interface DefinitionContext {
  /** Where devices in Automated Device Enrollment ask this server for their profile. */
  enrollmentUrl: string;
  /** DER of the certificates by which devices trust this server. */
  anchors: readonly Buffer[];
  /** DER of the certificates of computers that may supervise devices. */
  supervisors: readonly Buffer[];
}

/**
 * A device with anchors trusts nothing else for the host of the url, so this server's anchors are
 * sent only if the url leads to this server.
 */
function anchorsOf(profile: DepProfile, context: DefinitionContext): string[] {
  if (profile.anchor_certs !== null) return profile.anchor_certs;
  const isHere = hasSameOrigin(urlOf(profile, context), context.enrollmentUrl);
  return isHere ? inBase64(context.anchors) : [];
}

function inBase64(certificates: readonly Buffer[]): string[] {
  return certificates.map((der) => der.toString('base64'));
}
