import { verifySignedData } from '../../crypto/cms/cms-signed-data.js';
import {
  isPlistDict,
  type PlistDict,
  type PlistInput,
  type PlistValue,
} from '../../protocol/plist/plist.js';

interface OpenedProfile {
  /** The property list inside. */
  plist: Buffer;
  /** DER, the signer's first; empty for a profile that is not signed. */
  signerCertificates: Buffer[];
}

const DER_SEQUENCE = 0x30;

/**
 * Reads a profile file, signed or not. Throws AppError when the signature is invalid; the signer need
 * not be trusted: a real device shows it to its user.
 */
export function openProfile(bytes: Buffer): OpenedProfile {
  if (bytes[0] !== DER_SEQUENCE) return { plist: bytes, signerCertificates: [] };
  const { content, signers, certificates } = verifySignedData({ der: bytes });
  const signer = signers[0].certificate;
  const others = certificates.filter(({ fingerprint }) => !fingerprint.equals(signer.fingerprint));
  return { plist: content, signerCertificates: [signer, ...others].map(({ der }) => der) };
}

export interface InstalledProfile {
  identifier: string;
  /** The content of the profile file, all payloads included. */
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

/** undefined without a PayloadIdentifier or for another type than Configuration: not installable. */
export function toInstalledProfile(
  content: PlistDict,
  { isManaged, signerCertificates = [] }: ProfileOrigin,
): InstalledProfile | undefined {
  const identifier = textOf(content, 'PayloadIdentifier');
  const isConfiguration = textOf(content, 'PayloadType') === 'Configuration';
  if (identifier === undefined || !isConfiguration) return undefined;
  return { identifier, content, isManaged, signerCertificates };
}

/** One entry of ProfileList, which shows the kinds of payloads but not their settings. */
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
