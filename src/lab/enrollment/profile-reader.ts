import { AppError } from '../../errors.js';
import { isPlistDict, type PlistDict, type PlistValue } from '../../protocol/plist/plist.js';
import type {
  ScepPayload,
  ScepSubject,
  SubjectAltName,
} from '../../protocol/profiles/mobileconfig.js';
import { parseProfile } from '../devices/profiles.js';

/** The part of an enrollment profile that a device acts on. */
export interface EnrollmentContent {
  identifier: string;
  uuid: string;
  scep: ScepPayload & { keySize: number; keyUsage: number };
  mdm: {
    serverUrl: string;
    /** serverUrl when the profile names none. */
    checkInUrl: string;
    topic: string;
    accessRights: number;
    signMessage: boolean;
    checkOutWhenRemoved: boolean;
    serverCapabilities: string[];
    /** Set for account-driven enrollment: BYOD or ADDE. */
    enrollmentMode?: string | undefined;
    assignedManagedAppleId?: string | undefined;
  };
  /** DER. */
  caCertificates: Buffer[];
}

/** The content of the interim profile of an over-the-air enrollment. */
export type IdentityContent = Pick<EnrollmentContent, 'scep' | 'caCertificates'>;

/**
 * Reads an enrollment profile that is not signed, with a device's defaults for absent keys. Throws
 * AppError invalid_plist, or invalid_message without an MDM payload and its SCEP identity.
 */
export function readEnrollmentProfile(bytes: Buffer): EnrollmentContent {
  const profile = parseProfile(bytes);
  const payloads = dicts(profile.PayloadContent);
  const mdm = payloads.find((payload) => payload.PayloadType === 'com.apple.mdm');
  if (mdm === undefined) throw invalid('it has no com.apple.mdm payload');
  const identity = payloads.find(
    (payload) =>
      payload.PayloadType === 'com.apple.security.scep' &&
      payload.PayloadUUID === mdm.IdentityCertificateUUID,
  );
  if (identity === undefined) throw invalid('its identity is no SCEP payload of the profile');
  return {
    identifier: text(profile, 'PayloadIdentifier'),
    uuid: text(profile, 'PayloadUUID'),
    scep: readScep(identity.PayloadContent),
    mdm: readMdm(mdm),
    caCertificates: payloads.flatMap((payload) => certificate(payload)),
  };
}

/**
 * Reads a profile that is not signed and has one SCEP payload. Throws AppError invalid_plist, or
 * invalid_message for another number of SCEP payloads.
 */
export function readIdentityProfile(bytes: Buffer): IdentityContent {
  const payloads = dicts(parseProfile(bytes).PayloadContent);
  const [identity, ...others] = payloads.filter(
    (payload) => payload.PayloadType === 'com.apple.security.scep',
  );
  if (identity === undefined || others.length > 0) throw invalid('it has not one SCEP payload');
  return {
    scep: readScep(identity.PayloadContent),
    caCertificates: payloads.flatMap((payload) => certificate(payload)),
  };
}

function readMdm(payload: PlistDict): EnrollmentContent['mdm'] {
  const serverUrl = text(payload, 'ServerURL');
  const mdm: EnrollmentContent['mdm'] = {
    serverUrl,
    checkInUrl: optionalText(payload, 'CheckInURL') ?? serverUrl,
    topic: text(payload, 'Topic'),
    accessRights: number(payload, 'AccessRights') ?? 0,
    signMessage: payload.SignMessage === true,
    checkOutWhenRemoved: payload.CheckOutWhenRemoved === true,
    serverCapabilities: strings(payload.ServerCapabilities),
  };
  const enrollmentMode = optionalText(payload, 'EnrollmentMode');
  const assignedManagedAppleId = optionalText(payload, 'AssignedManagedAppleID');
  if (enrollmentMode !== undefined) mdm.enrollmentMode = enrollmentMode;
  if (assignedManagedAppleId !== undefined) mdm.assignedManagedAppleId = assignedManagedAppleId;
  return mdm;
}

function readScep(content: PlistValue | undefined): EnrollmentContent['scep'] {
  if (!isPlistDict(content)) throw invalid('its SCEP payload has no content');
  const scep: EnrollmentContent['scep'] = {
    url: text(content, 'URL'),
    keySize: number(content, 'Keysize') ?? 1024,
    keyUsage: number(content, 'Key Usage') ?? 0,
    retries: number(content, 'Retries') ?? 3,
    retryDelay: number(content, 'RetryDelay') ?? 10,
  };
  const name = optionalText(content, 'Name');
  const challenge = optionalText(content, 'Challenge');
  if (name !== undefined) scep.name = name;
  if (challenge !== undefined) scep.challenge = challenge;
  if (content.Subject !== undefined) scep.subject = readSubject(content.Subject);
  if (Buffer.isBuffer(content.CAFingerprint)) scep.caFingerprint = content.CAFingerprint;
  if (isPlistDict(content.SubjectAltName)) scep.subjectAltName = readNames(content.SubjectAltName);
  return scep;
}

function readSubject(value: PlistValue): ScepSubject {
  return list(value).map((relative) =>
    list(relative).map((pair): [string, string] => {
      const [type, content, ...rest] = strings(pair);
      if (type === undefined || content === undefined || rest.length > 0) {
        throw invalid('its SCEP subject is no array of arrays of pairs');
      }
      return [type, content];
    }),
  );
}

function readNames(dict: PlistDict): SubjectAltName {
  const names: SubjectAltName = {};
  for (const kind of ['rfc822Name', 'dNSName', 'uniformResourceIdentifier'] as const) {
    const value = dict[kind];
    if (typeof value === 'string') names[kind] = value;
    else if (Array.isArray(value)) names[kind] = strings(value);
  }
  if (typeof dict.ntPrincipalName === 'string') names.ntPrincipalName = dict.ntPrincipalName;
  return names;
}

function certificate(payload: PlistDict): Buffer[] {
  const isRoot = payload.PayloadType === 'com.apple.security.root';
  const content = payload.PayloadContent;
  return isRoot && Buffer.isBuffer(content) ? [content] : [];
}

function text(dict: PlistDict, key: string): string {
  const value = optionalText(dict, key);
  if (value === undefined) throw invalid(`it has no ${key}`);
  return value;
}

function optionalText(dict: PlistDict, key: string): string | undefined {
  const value = dict[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function number(dict: PlistDict, key: string): number | undefined {
  const value = dict[key];
  return typeof value === 'number' ? value : undefined;
}

function list(value: PlistValue | undefined): PlistValue[] {
  return Array.isArray(value) ? value : [];
}

function dicts(value: PlistValue | undefined): PlistDict[] {
  return list(value).filter(isPlistDict);
}

function strings(value: PlistValue | undefined): string[] {
  return list(value).filter((element) => typeof element === 'string');
}

function invalid(reason: string): AppError {
  return new AppError('invalid_message', 400, `Not an enrollment profile: ${reason}`);
}
