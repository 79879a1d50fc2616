import { buildPlist } from '../plist/plist.js';
import {
  buildConfiguration,
  type ProfileOrganization,
  type ScepPayload,
  scepPayload,
  uuidSource,
} from './mobileconfig.js';

/** The attributes the device is asked to report, by the names of Apple's Profile Service. */
const DEVICE_ATTRIBUTES = [
  'UDID',
  'SERIAL',
  'PRODUCT',
  'VERSION',
  'IMEI',
  'MEID',
  'ICCID',
  'DEVICE_NAME',
  'LANGUAGE',
];

export interface ProfileServiceOptions {
  organization: ProfileOrganization;
  /** Where the device posts its attributes. */
  url: string;
  challenge: string;
}

/**
 * The first profile of an over-the-air enrollment, as an XML property list: the device posts its
 * attributes and the challenge, signed with its factory certificate.
 */
export function buildProfileService(options: ProfileServiceOptions): Buffer {
  const { organization, url, challenge } = options;
  return buildPlist({
    PayloadType: 'Profile Service',
    PayloadVersion: 1,
    PayloadIdentifier: `${organization.payload_prefix}.ota`,
    PayloadUUID: uuidSource()('ota'),
    PayloadDisplayName: `${organization.name} device management`,
    PayloadDescription: 'Lets this device be managed.',
    PayloadOrganization: organization.name,
    PayloadContent: { URL: url, DeviceAttributes: DEVICE_ATTRIBUTES, Challenge: challenge },
  });
}

/**
 * The answer to the attributes: an identity by SCEP and nothing else. The device signs its
 * attributes with it and posts them once more.
 */
export function buildIdentityProfile(options: {
  organization: ProfileOrganization;
  scep: ScepPayload;
}): Buffer {
  const { organization, scep } = options;
  const uuids = uuidSource();
  return buildConfiguration({
    organization,
    part: 'ota.identity',
    uuid: uuids('ota.identity'),
    displayName: `${organization.name} device identity`,
    payloads: [scepPayload(scep, { prefix: organization.payload_prefix, uuid: uuids('scep') })],
  });
}
