import { createHash, randomUUID } from 'node:crypto';
import { ALL_ACCESS_RIGHTS } from '../apple/access-rights.js';
import { buildPlist, type PlistInput } from '../plist/plist.js';

/** Per-user connections are needed for the user channel of Macs and for Shared iPad. */
const SERVER_CAPABILITIES = ['com.apple.mdm.per-user-connections', 'com.apple.mdm.bootstraptoken'];
const GET_TOKEN = 'com.apple.mdm.token';

/** A subject as the SCEP payload wants it: relative names of [attribute type, value] pairs. */
export type ScepSubject = [string, string][][];

export interface ScepPayload {
  url: string;
  /** Sent back to the SCEP server as the message of GetCACert. */
  name?: string;
  subject?: ScepSubject;
  challenge?: string | undefined;
  /** Bits; the device's own default is 1024. */
  keySize?: number;
  /** 1 signing, 4 encryption, 5 both. */
  keyUsage?: number;
  retries?: number;
  /** Seconds between retries. */
  retryDelay?: number;
  /** Digest of the CA certificate: SHA-1 or MD5. */
  caFingerprint?: Buffer | undefined;
  subjectAltName?: SubjectAltName | undefined;
}

export interface SubjectAltName {
  rfc822Name?: string | string[];
  dNSName?: string | string[];
  uniformResourceIdentifier?: string | string[];
  ntPrincipalName?: string;
}

export interface MdmPayload {
  serverUrl: string;
  /** Without it the device sends check-ins to serverUrl. */
  checkInUrl?: string;
  topic: string;
  accessRights?: number;
  serverCapabilities?: string[];
  /** GetToken is answered. An update may change this capability, unlike per-user connections. */
  answersGetToken?: boolean;
  /** Set for account-driven enrollment. BYOD: the profile asks for no rights over the device. */
  account?: { mode: 'BYOD' | 'ADDE'; managedAppleAccount: string } | undefined;
}

export interface EnrollmentProfileOptions {
  organization: ProfileOrganization & { description?: string | undefined };
  scep: ScepPayload;
  mdm: MdmPayload;
  /** DER. Trusted by the device once the profile is installed. */
  caCertificates: Buffer[];
  /** Equal seeds make equal PayloadUUIDs; without a seed they are random. */
  uuidSeed?: string;
}

export type Uuids = (part: string) => string;
type Payload = { readonly [key: string]: PlistInput | undefined };

/** The organization that a profile names as its sender. */
export interface ProfileOrganization {
  name: string;
  /** Reverse-DNS start of its identifiers. */
  payload_prefix: string;
}

export interface ConfigurationOptions {
  organization: ProfileOrganization;
  /** The end of its identifier: `enroll`. */
  part: string;
  displayName: string;
  description?: string | undefined;
  uuid: string;
  payloads: Payload[];
}

/** A configuration profile for the whole device, as an XML property list. */
export function buildConfiguration(options: ConfigurationOptions): Buffer {
  const { organization, payloads } = options;
  return buildPlist({
    PayloadType: 'Configuration',
    PayloadVersion: 1,
    PayloadIdentifier: `${organization.payload_prefix}.${options.part}`,
    PayloadUUID: options.uuid,
    PayloadDisplayName: options.displayName,
    PayloadDescription: options.description,
    PayloadOrganization: organization.name,
    PayloadScope: 'System',
    PayloadContent: payloads,
  });
}

/**
 * The profile that enrolls a device, as an XML property list, unsigned: the CA certificates, the
 * identity by SCEP, then the MDM payload, in the order they have to be installed.
 */
export function buildEnrollmentProfile(options: EnrollmentProfileOptions): Buffer {
  const { organization, scep, mdm } = options;
  const uuids = uuidSource(options.uuidSeed);
  const prefix = organization.payload_prefix;
  const identity = scepPayload(scep, { prefix, uuid: uuids('scep') });
  return buildConfiguration({
    organization,
    part: 'enroll',
    uuid: uuids('enroll'),
    displayName: `${organization.name} device management`,
    description: organization.description,
    payloads: [
      ...options.caCertificates.map((der, index) => caPayload(der, { prefix, uuids, index })),
      identity,
      mdmPayload(mdm, { prefix, uuid: uuids('mdm'), identityUuid: identity.PayloadUUID }),
    ],
  });
}

/** The certificate of a CA, which the device trusts from then on. */
export function caPayload(der: Buffer, at: { prefix: string; uuids: Uuids; index: number }) {
  const part = at.index === 0 ? 'ca' : `ca.${at.index + 1}`;
  return {
    PayloadType: 'com.apple.security.root',
    PayloadVersion: 1,
    PayloadIdentifier: `${at.prefix}.${part}`,
    PayloadUUID: at.uuids(part),
    PayloadDisplayName: 'Certificate authority',
    PayloadCertificateFileName: `${part}.cer`,
    PayloadContent: der,
  };
}

/** The identity that the device requests by SCEP. */
export function scepPayload(scep: ScepPayload, at: { prefix: string; uuid: string }) {
  return {
    PayloadType: 'com.apple.security.scep',
    PayloadVersion: 1,
    PayloadIdentifier: `${at.prefix}.scep`,
    PayloadUUID: at.uuid,
    PayloadDisplayName: 'Device identity',
    PayloadContent: {
      URL: scep.url,
      Name: scep.name,
      Subject: scep.subject,
      Challenge: scep.challenge,
      Keysize: scep.keySize ?? 2048,
      'Key Type': 'RSA',
      'Key Usage': scep.keyUsage ?? 5,
      CAFingerprint: scep.caFingerprint,
      Retries: scep.retries,
      RetryDelay: scep.retryDelay,
      SubjectAltName: scep.subjectAltName as { [name: string]: PlistInput } | undefined,
      AllowAllAppsAccess: false,
      KeyIsExtractable: false,
    },
  };
}

/** Random PayloadUUIDs, or those derived from the seed. */
export function uuidSource(seed?: string): Uuids {
  if (seed === undefined) return () => randomUUID().toUpperCase();
  return (part) => uuidOf(`${seed}\0${part}`);
}

function mdmPayload(
  mdm: MdmPayload,
  at: { prefix: string; uuid: string; identityUuid: string },
): Payload {
  return {
    PayloadType: 'com.apple.mdm',
    PayloadVersion: 1,
    PayloadIdentifier: `${at.prefix}.mdm`,
    PayloadUUID: at.uuid,
    PayloadDisplayName: 'Device management',
    IdentityCertificateUUID: at.identityUuid,
    Topic: mdm.topic,
    ServerURL: mdm.serverUrl,
    CheckInURL: mdm.checkInUrl,
    // Apple's default for both is false: the device would send neither signatures nor CheckOut.
    SignMessage: true,
    CheckOutWhenRemoved: true,
    // All of them: Apple refuses to add rights to an enrollment later.
    AccessRights:
      mdm.account?.mode === 'BYOD' ? undefined : (mdm.accessRights ?? ALL_ACCESS_RIGHTS),
    EnrollmentMode: mdm.account?.mode,
    AssignedManagedAppleID: mdm.account?.managedAppleAccount,
    ServerCapabilities: [
      ...(mdm.serverCapabilities ?? SERVER_CAPABILITIES),
      ...(mdm.answersGetToken === true ? [GET_TOKEN] : []),
    ],
  };
}

/** A UUID made of a digest, version 8 (RFC 9562 §5.8). */
function uuidOf(name: string): string {
  const bytes = createHash('sha256').update(name).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex').toUpperCase();
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}
