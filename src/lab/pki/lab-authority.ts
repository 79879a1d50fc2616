import { randomUUID } from 'node:crypto';
import { derNull } from '../../crypto/asn1/der.js';
import { Oid } from '../../crypto/asn1/oids.js';
import { decodePemBlock, encodePem } from '../../crypto/asn1/pem.js';
import {
  exportPrivateKey,
  generateEcKeyPair,
  generateRsaKeyPair,
  importPrivateKey,
  type KeyPair,
} from '../../crypto/keys/keys.js';
import {
  type Extension,
  type GeneralName,
  type Identity,
  issueCertificate,
  parseCertificate,
} from '../../crypto/x509/certificate.js';
import { isIssuedBy } from '../../crypto/x509/certificate-path.js';
import type { NameAttribute } from '../../crypto/x509/names.js';

const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3_650;
const DAYS = 365;

/** The lab's own CA, in place of Apple's; only the lab trusts it. */
export type LabAuthority = Identity;

export interface PushCertificateOptions {
  /** A new one in Apple's form when absent. */
  topic?: string | undefined;
  notBefore?: Date;
  notAfter?: Date;
}

function daysFromNow(days: number): Date {
  return new Date(Date.now() + days * DAY_MS);
}

/** The CA of the stand-ins for Apple's services. */
export function createLabAuthority(): Promise<LabAuthority> {
  return createAuthority(`Muster Lab CA ${randomUUID().slice(0, 8)}`);
}

/** The CA that certifies simulated devices, as Apple's certifies real ones at activation. */
export function createLabFactoryCa(): Promise<LabAuthority> {
  return createAuthority('Muster Lab Device CA');
}

async function createAuthority(commonName: string): Promise<LabAuthority> {
  const { privateKey, publicKey } = await generateEcKeyPair('P-256');
  const der = issueCertificate({
    subject: [
      { type: 'O', value: 'Muster' },
      { type: 'CN', value: commonName },
    ],
    publicKey,
    issuerKey: privateKey,
    notBefore: daysFromNow(-1),
    notAfter: daysFromNow(AUTHORITY_DAYS),
    isCa: true,
    pathLength: 0,
    keyUsage: ['keyCertSign', 'cRLSign'],
  });
  return { certificate: parseCertificate(der), privateKey };
}

export function certificatePem({ certificate }: Pick<Identity, 'certificate'>): string {
  return encodePem('CERTIFICATE', certificate.der);
}

export function privateKeyPem({ privateKey }: Pick<Identity, 'privateKey'>): string {
  return encodePem('PRIVATE KEY', exportPrivateKey(privateKey));
}

/** PEM of the certificate and then its key, for another process of the lab. */
export function writeLabAuthority(authority: LabAuthority): string {
  return certificatePem(authority) + privateKeyPem(authority);
}

/** What `writeLabAuthority` wrote. */
export function readLabAuthority(pem: string): LabAuthority {
  return {
    certificate: parseCertificate(decodePemBlock(pem, 'CERTIFICATE')),
    privateKey: importPrivateKey(decodePemBlock(pem, 'PRIVATE KEY')),
  };
}

interface LeafOptions extends PushCertificateOptions {
  keys: KeyPair;
  subject: NameAttribute[];
  purpose: string;
  subjectAltName?: GeneralName[];
  furtherExtensions?: Extension[];
}

function issueLeaf(authority: LabAuthority, options: LeafOptions): Identity {
  const { keys, purpose, topic: _topic, ...rest } = options;
  const der = issueCertificate({
    notBefore: daysFromNow(-1),
    notAfter: daysFromNow(DAYS),
    ...rest,
    publicKey: keys.publicKey,
    issuer: authority.certificate,
    issuerKey: authority.privateKey,
    keyUsage: ['digitalSignature'],
    extendedKeyUsage: [purpose],
  });
  return { certificate: parseCertificate(der), privateKey: keys.privateKey };
}

/** For the stand-ins' own servers: localhost and the loopback addresses. */
export async function issueServerCertificate(authority: LabAuthority): Promise<Identity> {
  return issueLeaf(authority, {
    keys: await generateEcKeyPair('P-256'),
    subject: [{ type: 'CN', value: 'localhost' }],
    purpose: Oid.serverAuth,
    subjectAltName: [
      { type: 'dns', value: 'localhost' },
      { type: 'ip', value: '127.0.0.1' },
      { type: 'ip', value: '::1' },
    ],
  });
}

/** With the names and extensions of Apple's MDM push certificates, which are RSA too. */
export async function issuePushCertificate(
  authority: LabAuthority,
  options: PushCertificateOptions = {},
): Promise<Identity & { topic: string }> {
  const topic = options.topic ?? `com.apple.mgmt.External.${randomUUID()}`;
  const marks = [Oid.applePushDevelopment, Oid.applePushProduction];
  const issued = issueLeaf(authority, {
    ...options,
    keys: await generateRsaKeyPair(),
    subject: [
      { type: 'UID', value: topic },
      { type: 'CN', value: `APSP:${randomUUID()}` },
      { type: 'C', value: 'US' },
    ],
    purpose: Oid.clientAuth,
    furtherExtensions: marks.map((oid) => ({ oid, critical: false, value: derNull() })),
  });
  return { ...issued, topic };
}

/** Whether the CA of the lab issued the certificate (DER). */
export function isOfLab({ certificate }: Pick<LabAuthority, 'certificate'>, der: Buffer): boolean {
  return isIssuedBy(parseCertificate(der), certificate);
}
