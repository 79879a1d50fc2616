import { parseCertificate } from '../crypto/x509/certificate.js';
import type { ErrorDetail } from '../errors.js';
import { conditionFaults } from '../protocol/apple/command-conditions.js';
import { validateCommand } from '../protocol/apple/command-schema.js';
import {
  isPlistDict,
  type PlistDict,
  type PlistValue,
  parsePlistDict,
} from '../protocol/plist/plist.js';
import { profileFaults } from '../protocol/profiles/profile-kind.js';
import { variablesIn } from '../protocol/profiles/profile-variables.js';
import { faultsOfReturn } from './return-profiles.js';

const PARAMETERS = '/data/attributes/parameters';

const HASH_TYPE = 'SALTED-SHA512-PBKDF2';
const NO_HASH =
  `passwordHash must be a property list in base64 with the dictionary ${HASH_TYPE}, which has entropy, salt and ` +
  'iterations; name the password instead, and Muster derives it';

const NO_CERTIFICATE =
  'ReplyEncryptionCertificate must be a certificate in base64 of its DER; leave it out, and Muster sends its own';

const NO_ZONE =
  'TimeZone must be a name of the IANA time zone database, such as Europe/Berlin or America/New_York';

const NO_VERSION = 'ProductVersion must be a version, such as 18.1.1';

/** Keys whose text says that they are URLs, and whether of https alone. */
const URLS: Record<string, { key: string; isSecure: boolean }> = {
  InstallApplication: { key: 'ManifestURL', isSecure: true },
  InstallEnterpriseApplication: { key: 'ManifestURL', isSecure: true },
  InstallMedia: { key: 'MediaURL', isSecure: false },
  InviteToProgram: { key: 'InvitationURL', isSecure: false },
  RefreshCellularPlans: { key: 'eSIMServerURL', isSecure: false },
};

/** Keys that name something: an empty value names nothing, and a device would answer with an error of its own. */
const NAMES = ['Identifier', 'UUID', 'UserName', 'UnlockToken'];
const NAMES_OF_SETTINGS = ['Identifier', 'DeviceName', 'HostName'];
/** Lists of names; an empty list of some means all. */
const LISTS_OF_NAMES = ['Identifiers', 'KextPaths'];
/** Without an element there is nothing to do. */
const LISTS_TO_DO = ['Settings', 'Queries', 'Updates'];

export interface ValueOptions {
  /** Texts with variables are not checked: each device gets its own. */
  mayHaveVariables?: boolean | undefined;
  /** JSON pointers of what Apple's schema refuses already. */
  faulty?: readonly string[] | undefined;
}

/** Whether parameters have no fault, by Apple's schema and by `valueFaults`. */
export function isValid(requestType: string, parameters: PlistDict): boolean {
  const faults = validateCommand(requestType, parameters);
  return faults.length === 0 && valueFaults(requestType, parameters).length === 0;
}

/** Faults of values that Apple's schema does not describe, but Apple's documentation does. */
export function valueFaults(
  requestType: string,
  parameters: PlistDict,
  { mayHaveVariables = false, faulty }: ValueOptions = {},
): ErrorDetail[] {
  const conditions = conditionFaults(requestType, parameters, { pointer: PARAMETERS, faulty });
  return [
    ...conditions.map(({ pointer, detail }) => ({ detail, source: { pointer } })),
    ...(conditions.length === 0 ? emptyFaults(parameters) : []),
    ...urlFaults(requestType, parameters, mayHaveVariables),
    ...ownFaults(requestType, parameters, mayHaveVariables),
  ];
}

function ownFaults(
  requestType: string,
  parameters: PlistDict,
  mayHaveVariables: boolean,
): ErrorDetail[] {
  switch (requestType) {
    case 'InstallProfile':
      return payloadFaults(parameters.Payload);
    case 'EraseDevice':
      return returnFaults(parameters.ReturnToService);
    case 'SetAutoAdminPassword':
      return hashFaults(parameters, PARAMETERS);
    case 'AccountConfiguration':
      return faultsOfEach(parameters, 'AutoSetupAdminAccounts', hashFaults);
    case 'RotateFileVaultKey':
      return certificateFaults(parameters.ReplyEncryptionCertificate);
    case 'ScheduleOSUpdate':
      return faultsOfEach(parameters, 'Updates', (update, pointer) =>
        versionFaults(update, { pointer, mayHaveVariables }),
      );
    case 'Settings':
      return faultsOfEach(parameters, 'Settings', (setting, pointer) =>
        zoneFaults(setting, { pointer, mayHaveVariables }),
      );
    default:
      return [];
  }
}

function emptyFaults(parameters: PlistDict): ErrorDetail[] {
  return [
    ...emptyNames(parameters, NAMES, PARAMETERS),
    ...LISTS_OF_NAMES.flatMap((key) => emptyElements(key, parameters[key])),
    ...LISTS_TO_DO.flatMap((key) => emptyList(key, parameters[key])),
    ...faultsOfEach(parameters, 'Settings', (setting, pointer) =>
      emptyNames(setting, NAMES_OF_SETTINGS, pointer),
    ),
  ];
}

function emptyElements(key: string, list: PlistValue | undefined): ErrorDetail[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((element, index) => {
    const source = { pointer: `${PARAMETERS}/${key}/${index}` };
    return isEmpty(element) ? [{ detail: `an element of ${key} must not be empty`, source }] : [];
  });
}

function emptyList(key: string, list: PlistValue | undefined): ErrorDetail[] {
  if (!Array.isArray(list) || list.length > 0) return [];
  const source = { pointer: `${PARAMETERS}/${key}` };
  return [{ detail: `${key} must have an element: without one there is nothing to do`, source }];
}

function emptyNames(dictionary: PlistDict, names: string[], pointer: string): ErrorDetail[] {
  return names
    .filter((key) => isEmpty(dictionary[key]))
    .map((key) => ({
      detail: `${key} must not be empty`,
      source: { pointer: `${pointer}/${key}` },
    }));
}

function isEmpty(value: PlistValue | undefined): boolean {
  if (typeof value === 'string') return value.trim() === '';
  return Buffer.isBuffer(value) && value.length === 0;
}

function urlFaults(
  requestType: string,
  parameters: PlistDict,
  mayHaveVariables: boolean,
): ErrorDetail[] {
  if (!Object.hasOwn(URLS, requestType)) return [];
  const { key, isSecure } = URLS[requestType] as { key: string; isSecure: boolean };
  const { [key]: url } = parameters;
  if (typeof url !== 'string' || isUrl(url, isSecure)) return [];
  if (mayHaveVariables && variablesIn(url).length > 0) return [];
  const detail = `${key} must be a URL that begins with https://${isSecure ? '' : ' or http://'}`;
  return [{ detail, source: { pointer: `${PARAMETERS}/${key}` } }];
}

function isUrl(text: string, isSecure: boolean): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return hostname !== '' && (protocol === 'https:' || (!isSecure && protocol === 'http:'));
}

function faultsOfEach(
  parameters: PlistDict,
  name: string,
  faultsOf: (element: PlistDict, pointer: string) => ErrorDetail[],
): ErrorDetail[] {
  const { [name]: elements } = parameters;
  if (!Array.isArray(elements)) return [];
  return elements.flatMap((element, index) =>
    isPlistDict(element) ? faultsOf(element, `${PARAMETERS}/${name}/${index}`) : [],
  );
}

function payloadFaults(profile: PlistValue | undefined): ErrorDetail[] {
  if (!Buffer.isBuffer(profile)) return [];
  const source = { pointer: `${PARAMETERS}/Payload` };
  return profileFaults(profile).map(({ pointer, detail }) => ({
    detail: pointer === '' ? `Payload ${detail}` : `Payload, at ${pointer}: ${detail}`,
    source,
  }));
}

function returnFaults(dictionary: PlistValue | undefined): ErrorDetail[] {
  if (!isPlistDict(dictionary)) return [];
  return faultsOfReturn(dictionary).map(({ key, fault }) => ({
    detail: `${key} ${fault}`,
    source: { pointer: `${PARAMETERS}/ReturnToService/${key}` },
  }));
}

function certificateFaults(der: PlistValue | undefined): ErrorDetail[] {
  if (!Buffer.isBuffer(der) || isCertificate(der)) return [];
  return [
    { detail: NO_CERTIFICATE, source: { pointer: `${PARAMETERS}/ReplyEncryptionCertificate` } },
  ];
}

function isCertificate(der: Buffer): boolean {
  try {
    parseCertificate(der);
    return true;
  } catch {
    return false;
  }
}

function versionFaults(
  { ProductVersion: version }: PlistDict,
  { pointer, mayHaveVariables }: { pointer: string; mayHaveVariables: boolean },
): ErrorDetail[] {
  if (typeof version !== 'string' || /^\d+(\.\d+)*$/.test(version)) return [];
  if (mayHaveVariables && variablesIn(version).length > 0) return [];
  return [{ detail: NO_VERSION, source: { pointer: `${pointer}/ProductVersion` } }];
}

function hashFaults({ passwordHash: hash }: PlistDict, pointer: string): ErrorDetail[] {
  if (!Buffer.isBuffer(hash) || isPasswordHash(hash)) return [];
  return [{ detail: NO_HASH, source: { pointer: `${pointer}/passwordHash` } }];
}

function isPasswordHash(bytes: Buffer): boolean {
  try {
    const { [HASH_TYPE]: hash } = parsePlistDict(bytes);
    if (!isPlistDict(hash)) return false;
    const { entropy, salt, iterations } = hash;
    return isData(entropy) && isData(salt) && Number(iterations) > 0;
  } catch {
    return false;
  }
}

function isData(value: PlistValue | undefined): boolean {
  return Buffer.isBuffer(value) && value.length > 0;
}

function zoneFaults(
  { Item: item, TimeZone: zone }: PlistDict,
  { pointer, mayHaveVariables }: { pointer: string; mayHaveVariables: boolean },
): ErrorDetail[] {
  if (item !== 'TimeZone' || typeof zone !== 'string' || isTimeZone(zone)) return [];
  if (mayHaveVariables && variablesIn(zone).length > 0) return [];
  return [{ detail: NO_ZONE, source: { pointer: `${pointer}/TimeZone` } }];
}

/** A name that this Node's time zone database has; no offset such as +01:00. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
