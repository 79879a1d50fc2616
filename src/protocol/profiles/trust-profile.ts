import {
  buildConfiguration,
  caPayload,
  type ProfileOrganization,
  uuidSource,
} from './mobileconfig.js';

export interface TrustProfileOptions {
  organization: ProfileOrganization;
  /** DER of the CAs that issue identities and sign for this server. */
  caCertificates: readonly Buffer[];
  /** The server's TLS chain, leaf first. */
  tlsCertificates: readonly TlsCertificate[];
  /** Equal seeds make equal PayloadUUIDs. */
  uuidSeed: string;
}

export interface TlsCertificate {
  der: Buffer;
  /** Self-signed: the device then trusts every certificate it has signed, too. */
  isRoot: boolean;
}

/** The profile by which a device trusts this server, as an XML property list. */
export function buildTrustProfile(options: TrustProfileOptions): Buffer {
  const { organization, caCertificates, tlsCertificates } = options;
  const prefix = organization.payload_prefix;
  const uuids = uuidSource(options.uuidSeed);
  return buildConfiguration({
    organization,
    part: 'trust',
    uuid: uuids('trust'),
    displayName: `${organization.name} certificates`,
    description: 'Lets this device trust the server that manages it.',
    payloads: [
      ...caCertificates.map((der, index) => caPayload(der, { prefix, uuids, index })),
      ...tlsCertificates.map(({ der, isRoot }, index) => {
        const part = index === 0 ? 'ssl' : `ssl.${index + 1}`;
        return {
          PayloadType: isRoot ? 'com.apple.security.root' : 'com.apple.security.pkcs1',
          PayloadVersion: 1,
          PayloadIdentifier: `${prefix}.${part}`,
          PayloadUUID: uuids(part),
          PayloadDisplayName: 'Server certificate',
          PayloadCertificateFileName: `${part}.cer`,
          PayloadContent: der,
        };
      }),
    ],
  });
}
