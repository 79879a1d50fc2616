import { parse } from 'plist';
import { AppError } from '../../errors.js';
import {
  isPlistDict,
  type PlistDict,
  type PlistInput,
  type PlistValue,
  parsePlistDict,
} from '../../protocol/plist/plist.js';
import { openSignedData } from '../pki/cms-signed-data.js';

interface OpenedProfile {
  /** The property list inside. */
  plist: Buffer;
  /** DER, the signer's first; empty for a profile that is not signed. */
  signerCertificates: Buffer[];
}

const DER_SEQUENCE = 0x30;
const BINARY = Buffer.from('bplist00');

/**
 * Reads a profile file, signed or not. Throws AppError when the signature is invalid; the signer need
 * not be trusted: a real device shows it to its user.
 */
export function openProfile(bytes: Buffer): OpenedProfile {
  if (bytes[0] !== DER_SEQUENCE) return { plist: bytes, signerCertificates: [] };
  const { content, signer, certificates } = openSignedData(bytes);
  const others = certificates.filter((certificate) => !certificate.equals(signer));
  return { plist: content, signerCertificates: [signer, ...others] };
}

/** Reads a profile that is not signed, in XML or binary. Throws AppError invalid_plist. */
export function parseProfile(bytes: Buffer): PlistDict {
  // `plist` 3 reads XML only, and its parser writes to the console for text that is no XML at all.
  if (bytes.subarray(0, BINARY.length).equals(BINARY)) return parsePlistDict(bytes);
  const text = bytes.toString().trimStart();
  const content = text.startsWith('<') ? parseXml(text) : undefined;
  if (isPlistDict(content)) return content;
  throw new AppError('invalid_plist', 400, 'Not a valid property list');
}

function parseXml(text: string): unknown {
  try {
    return parse(text);
  } catch (cause) {
    throw new AppError('invalid_plist', 400, 'Not a valid property list', { cause });
  }
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

export function payloadsOf(profile: PlistDict): PlistDict[] {
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
