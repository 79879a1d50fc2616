import { buildConfiguration, type ProfileOrganization, uuidSource } from './mobileconfig.js';

export interface FileVaultProfileOptions {
  organization: ProfileOrganization;
  /** DER of the certificate to which the Mac encrypts its recovery key. */
  certificate: Buffer;
  /** Shown to the user of the Mac: where the key is kept. */
  location: string;
  /** Equal seeds make equal PayloadUUIDs. */
  uuidSeed: string;
}

/** The profile by which a Mac reports its FileVault recovery key, as an XML property list. */
export function buildFileVaultProfile(options: FileVaultProfileOptions): Buffer {
  const { organization, certificate, location } = options;
  const prefix = organization.payload_prefix;
  const uuids = uuidSource(options.uuidSeed);
  const certificateUuid = uuids('filevault.certificate');
  return buildConfiguration({
    organization,
    part: 'filevault',
    uuid: uuids('filevault'),
    displayName: `${organization.name} FileVault recovery key`,
    description: 'Lets this Mac hand its FileVault recovery key to the server that manages it.',
    payloads: [
      {
        PayloadType: 'com.apple.security.pkcs1',
        PayloadVersion: 1,
        PayloadIdentifier: `${prefix}.filevault.certificate`,
        PayloadUUID: certificateUuid,
        PayloadDisplayName: 'FileVault recovery keys',
        PayloadCertificateFileName: 'filevault.cer',
        PayloadContent: certificate,
      },
      {
        PayloadType: 'com.apple.security.FDERecoveryKeyEscrow',
        PayloadVersion: 1,
        PayloadIdentifier: `${prefix}.filevault.escrow`,
        PayloadUUID: uuids('filevault.escrow'),
        PayloadDisplayName: 'FileVault recovery key',
        EncryptCertPayloadUUID: certificateUuid,
        Location: location,
      },
    ],
  });
}
