import {
  isPlistDict,
  type PlistDict,
  type PlistInput,
  type PlistValue,
} from '../../protocol/plist/plist.js';

export interface InstalledProfile {
  identifier: string;
  /** As it lies in the profile file, all payloads included. */
  content: PlistDict;
  /** Installed by a command, as the enrollment profile is not. */
  isManaged: boolean;
  signerCertificates: Buffer[];
}

function textOf(dict: PlistDict, key: string): string | undefined {
  const value = dict[key];
  return typeof value === 'string' ? value : undefined;
}

const SHOWN = [
  'PayloadDescription',
  'PayloadDisplayName',
  'PayloadIdentifier',
  'PayloadOrganization',
  'PayloadUUID',
  'PayloadVersion',
] as const;

function shownKeys(dict: PlistDict): Record<string, PlistInput> {
  const present = SHOWN.filter((key) => dict[key] !== undefined);
  return Object.fromEntries(present.map((key) => [key, dict[key] as PlistValue]));
}

function payloadsOf(profile: PlistDict): PlistDict[] {
  const content = profile.PayloadContent;
  return Array.isArray(content) ? content.filter(isPlistDict) : [];
}

export function isEnrollmentProfile({ content }: InstalledProfile): boolean {
  return payloadsOf(content).some((payload) => payload.PayloadType === 'com.apple.mdm');
}

export interface ProfileOrigin {
  isManaged: boolean;
  signerCertificates?: Buffer[];
}

/** Undefined when it has no PayloadIdentifier or is no Configuration: no device installs that. */
export function toInstalledProfile(
  content: PlistDict,
  { isManaged, signerCertificates = [] }: ProfileOrigin,
): InstalledProfile | undefined {
  const identifier = textOf(content, 'PayloadIdentifier');
  const isConfiguration = textOf(content, 'PayloadType') === 'Configuration';
  if (identifier === undefined || !isConfiguration) return undefined;
  return { identifier, content, isManaged, signerCertificates };
}

/** One entry of ProfileList. What payloads are set to is never told, only what they are. */
export function describeProfile(profile: InstalledProfile): PlistInput {
  const { content, isManaged, signerCertificates } = profile;
  return {
    ...shownKeys(content),
    PayloadRemovalDisallowed: content.PayloadRemovalDisallowed === true,
    HasRemovalPasscode: payloadsOf(content).some(
      (payload) => payload.PayloadType === 'com.apple.profileRemovalPassword',
    ),
    IsEncrypted: false,
    IsManaged: isManaged,
    SignerCertificates: signerCertificates.length > 0 ? signerCertificates : undefined,
    PayloadContent: payloadsOf(content).map((payload) => ({
      ...shownKeys(payload),
      PayloadType: textOf(payload, 'PayloadType'),
    })),
  };
}
