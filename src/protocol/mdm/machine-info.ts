import { omitAbsent } from '../omit-absent.js';
import { type PlistDict, parsePlistDict } from '../plist/plist.js';
import { dataOf, identifierOf, invalidMessage, textOf } from './message-fields.js';

/**
 * What a device reports before it is enrolled: Apple's MachineInfo, or the attributes that a
 * Profile Service requests, which have the same names. Text as sent.
 */
export interface MachineInfo {
  udid?: string;
  serial?: string;
  /** `iPad4,1` */
  product?: string | undefined;
  /** The build, `15A5278f`; in answers to a Profile Service too. */
  version?: string;
  /** From iOS 17, macOS 14 on: `17.0.1` */
  osVersion?: string | undefined;
  supplementalBuildVersion?: string;
  supplementalOsVersionExtra?: string;
  imei?: string;
  meid?: string;
  iccid?: string;
  deviceName?: string;
  language?: string;
  /** Understands Apple's answer that a newer system is required. */
  canRequestSoftwareUpdate: boolean;
  softwareUpdateDeviceId?: string;
  /** The challenge of the Profile Service; some devices return it as data. */
  challenge?: string;
  body: PlistDict;
}

/** Serial numbers, UDIDs and the rest are short; a body of many megabytes is no device's. */
const LIMITS = { maxNodes: 500, maxDepth: 5 } as const;

/**
 * Reads the property list that a device has signed. Lenient as for check-ins: empty text counts as
 * absent, and what is required depends on the surface. AppError invalid_plist or invalid_message.
 */
export function readMachineInfo(bytes: Buffer): MachineInfo {
  const body = parsePlistDict(bytes, LIMITS);
  return omitAbsent<MachineInfo>({
    udid: identifierOf(body, 'UDID'),
    serial: identifierOf(body, 'SERIAL'),
    product: identifierOf(body, 'PRODUCT'),
    version: identifierOf(body, 'VERSION'),
    osVersion: identifierOf(body, 'OS_VERSION'),
    supplementalBuildVersion: identifierOf(body, 'SUPPLEMENTAL_BUILD_VERSION'),
    supplementalOsVersionExtra: identifierOf(body, 'SUPPLEMENTAL_OS_VERSION_EXTRA'),
    imei: identifierOf(body, 'IMEI'),
    meid: identifierOf(body, 'MEID'),
    iccid: identifierOf(body, 'ICCID'),
    deviceName: identifierOf(body, 'DEVICE_NAME'),
    language: identifierOf(body, 'LANGUAGE'),
    canRequestSoftwareUpdate: body.MDM_CAN_REQUEST_SOFTWARE_UPDATE === true,
    softwareUpdateDeviceId: identifierOf(body, 'SOFTWARE_UPDATE_DEVICE_ID'),
    challenge: textOf(body, 'CHALLENGE') ?? dataOf(body, 'CHALLENGE')?.toString('utf8'),
    body,
  });
}

export interface IdentifiedMachine extends MachineInfo {
  udid: string;
  serial: string;
}

/** AppError invalid_message 400 without a UDID or serial number. */
export function requireIdentified(info: MachineInfo): IdentifiedMachine {
  const { udid, serial } = info;
  if (udid === undefined) throw invalidMessage('it has no UDID');
  if (serial === undefined) throw invalidMessage('it has no SERIAL');
  return { ...info, udid, serial };
}

/** The challenge of the Profile Service. AppError invalid_message 400 without one. */
export function requireChallenge({ challenge }: MachineInfo): string {
  if (challenge === undefined) throw invalidMessage('it has no CHALLENGE');
  return challenge;
}
