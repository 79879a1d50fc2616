import { Oid } from '../../crypto/asn1/oids.js';
import { generateEcKeyPair, type KeyPair } from '../../crypto/keys/keys.js';
import {
  issueCertificate,
  type ParsedCertificate,
  parseCertificate,
} from '../../crypto/x509/certificate.js';
import type { Random } from './random.js';
import type { DeviceCertificate, SimulatedDevice } from './simulated-device.js';

const DAY_MS = 86_400_000;

const AUTHORITIES = [
  'Example Corporation Root CA',
  'Example Corporation Wi-Fi CA',
  'Northwind Code Signing CA',
  'Contoso VPN Root 2019',
  'Fabrikam Email CA',
  'Legacy Proxy Inspection CA',
] as const;

interface Authority {
  certificate: ParsedCertificate;
  keys: KeyPair;
}

async function createAuthority(commonName: string, index: number): Promise<Authority> {
  const keys = await generateEcKeyPair('P-256');
  const der = issueCertificate({
    subject: [
      { type: 'O', value: 'Simulated devices' },
      { type: 'CN', value: commonName },
    ],
    publicKey: keys.publicKey,
    issuerKey: keys.privateKey,
    notBefore: new Date(Date.now() - (400 + index * 200) * DAY_MS),
    // The last one has expired, as some in a real fleet always have.
    notAfter: new Date(Date.now() + (index === AUTHORITIES.length - 1 ? -30 : 2000) * DAY_MS),
    isCa: true,
    keyUsage: ['keyCertSign', 'cRLSign'],
  });
  return { certificate: parseCertificate(der), keys };
}

let authorities: Promise<Authority[]> | undefined;

/** Made once for the whole fleet, like the CAs of real companies. */
function allAuthorities(): Promise<Authority[]> {
  authorities ??= Promise.all(AUTHORITIES.map(createAuthority));
  return authorities;
}

/** Named as in CertificateList: by its common name, else its whole subject. */
export function toDeviceCertificate(der: Buffer, isIdentity: boolean): DeviceCertificate {
  const { commonName, subject } = parseCertificate(der);
  return { commonName: commonName ?? subject, der, isIdentity };
}

async function issueWifiIdentity(owner: string, authority: Authority): Promise<Buffer> {
  const { publicKey } = await generateEcKeyPair('P-256');
  return issueCertificate({
    subject: [{ type: 'CN', value: `${owner} Wi-Fi` }],
    publicKey,
    issuer: authority.certificate,
    issuerKey: authority.keys.privateKey,
    notBefore: new Date(Date.now() - 40 * DAY_MS),
    notAfter: new Date(Date.now() + 325 * DAY_MS),
    keyUsage: ['digitalSignature'],
    extendedKeyUsage: [Oid.clientAuth],
  });
}

/** What the device has besides the certificates of its enrollment. */
export async function createCertificates(
  device: SimulatedDevice,
  random: Random,
): Promise<DeviceCertificate[]> {
  const all = await allAuthorities();
  const chosen = random.sample(all, random.integer(2, all.length));
  const wifi = await issueWifiIdentity(device.identity.owner, chosen[0] as Authority);
  return [
    ...chosen.map(({ certificate }) => toDeviceCertificate(certificate.der, false)),
    toDeviceCertificate(wifi, true),
  ];
}
