import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { Oid } from '../../crypto/asn1/oids.js';
import { describeKey } from '../../crypto/keys/keys.js';
import type { KeyUsage, ParsedCertificate } from '../../crypto/x509/certificate.js';
import { allowsPurpose } from '../../crypto/x509/certificate-path.js';
import { describePublicKeyInfo } from '../../crypto/x509/public-key-info.js';
import type { CertificatePurpose } from '../../db/pki/certificate-repository.js';
import type { ErrorCode } from '../../errors.js';

const MIN_RSA_BITS = 2048;
/** Apple's push certificates name their topic in the UID of the subject. */
const PUSH_TOPIC = /^com\.apple\.mgmt\../;

/** One reason why a certificate is refused for a purpose. */
export interface Unfitness {
  detail: string;
  code: ErrorCode;
}

type Check = (certificate: ParsedCertificate) => string | undefined;

const isAuthority: Check = ({ isCa, keyUsage }) =>
  isCa && (keyUsage === undefined || keyUsage.includes('keyCertSign'))
    ? undefined
    : 'it is not the certificate of a CA';

/** RFC 5280 4.2.1.3; without the extension anything is allowed, as in certificates made by hand. */
const TLS_USAGES: KeyUsage[] = ['digitalSignature', 'keyEncipherment', 'keyAgreement'];

const isServer: Check = (certificate) => {
  const { keyUsage, isCa } = certificate;
  if (!allowsPurpose(certificate, Oid.serverAuth)) return 'it is not meant for servers';
  if (keyUsage === undefined || TLS_USAGES.some((usage) => keyUsage.includes(usage))) {
    return undefined;
  }
  const what = isCa ? 'it is the certificate of a CA, and' : 'it is not meant for servers:';
  return `${what} its key usage (${keyUsage.join(', ')}) leaves no way to speak TLS`;
};

const isPushCertificate: Check = ({ userId = '', hasSeveralUserIds }) => {
  if (!PUSH_TOPIC.test(userId)) {
    return 'it is no push certificate of Apple: its subject has no UID that begins with com.apple.mgmt.';
  }
  return hasSeveralUserIds ? 'its subject has several UIDs: its topic is ambiguous' : undefined;
};

/** Apple's portal accepts requests signed with SHA-256 and RSA only. */
const isVendor: Check = ({ isCa, publicKeyRaw }) =>
  !isCa && describePublicKeyInfo(publicKeyRaw)?.type === 'RSA'
    ? undefined
    : 'it is no MDM vendor certificate: those have an RSA key and are no CAs';

const PURPOSE_CHECKS: Partial<Record<CertificatePurpose, Check>> = {
  'mdm.cacert': isAuthority,
  'mdm.pushcert': isPushCertificate,
  'mdm.webcrt': isServer,
  'mdm.device': (certificate) =>
    !certificate.isCa && allowsPurpose(certificate, Oid.clientAuth)
      ? undefined
      : 'it is not meant for clients',
  'mdm.vendor': isVendor,
};

/** Why the certificate can't serve the purpose at any time. */
export function purposeFault(
  certificate: ParsedCertificate,
  purpose: CertificatePurpose,
): Unfitness | undefined {
  const detail = PURPOSE_CHECKS[purpose]?.(certificate);
  return detail === undefined ? undefined : { detail, code: 'validation_failed' };
}

/** Why the certificate is not valid now. */
export function timeFault(
  { notBefore, notAfter }: ParsedCertificate,
  now: Date,
): Unfitness | undefined {
  const code = 'certificate_not_valid';
  if (now < notBefore) return { code, detail: `it is not valid before ${notBefore.toISOString()}` };
  if (now > notAfter) return { code, detail: `it expired at ${notAfter.toISOString()}` };
  return undefined;
}

/** Why devices that connect to the host would refuse the certificate. */
export function hostFault(
  certificate: ParsedCertificate,
  purpose: CertificatePurpose,
  host: string | undefined,
): Unfitness | undefined {
  if (purpose !== 'mdm.webcrt' || host === undefined || isForHost(certificate, host)) {
    return undefined;
  }
  const detail =
    `it is for ${describeHosts(certificate)}, not for ${host}, the host of PUBLIC_URL, so that ` +
    'devices would refuse this server; ?force=true stores it all the same';
  return { detail, code: 'certificate_not_valid' };
}

export interface IntendedUse {
  purpose: CertificatePurpose;
  /** When it must be valid; undefined = not checked. */
  at?: Date | undefined;
  /** The host that a TLS certificate must be for; undefined = not checked. */
  host?: string | undefined;
}

/** Every reason against storing the certificate for this purpose. */
export function unfitness(
  certificate: ParsedCertificate,
  { purpose, at, host }: IntendedUse,
): Unfitness[] {
  const time = at && timeFault(certificate, at);
  const found = [
    keyFault(certificate),
    time && { ...time, detail: time.detail + forceAdvice(purpose) },
    purposeFault(certificate, purpose),
    hostFault(certificate, purpose, host),
  ];
  return found.filter((fault) => fault !== undefined);
}

/** The host of a URL as certificates name it: an IPv6 address stands without brackets. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

/** Whether clients accept the certificate for this host: by its SANs, else by its common name. */
export function isForHost({ der }: ParsedCertificate, host: string): boolean {
  try {
    const certificate = new X509Certificate(der);
    if (isIP(host) !== 0) return certificate.checkIP(host) !== undefined;
    return certificate.checkHost(host, { partialWildcards: false }) !== undefined;
  } catch {
    return false;
  }
}

/** The hosts of a certificate as a phrase of an error message. */
export function describeHosts({ subjectAltNames, commonName }: ParsedCertificate): string {
  const named = subjectAltNames.filter(({ type }) => type === 'dns' || type === 'ip');
  const hosts = named.length > 0 ? named.map(({ value }) => value) : [commonName ?? 'no host'];
  const rest = hosts.length > 5 ? ` and ${hosts.length - 5} more` : '';
  return hosts.slice(0, 5).join(', ') + rest;
}

function keyFault(certificate: ParsedCertificate): Unfitness | undefined {
  try {
    const { type, bits } = describeKey(certificate.publicKey);
    if (type === 'EC' || bits >= MIN_RSA_BITS) return undefined;
    const detail = `its key has ${bits} bits; ${MIN_RSA_BITS} are needed`;
    return { detail, code: 'validation_failed' };
  } catch {
    return { detail: 'its kind of key is not supported', code: 'validation_failed' };
  }
}

/** Not offered for a vendor certificate, which cannot sign outside its validity. */
function forceAdvice(purpose: CertificatePurpose): string {
  return purpose === 'mdm.vendor' ? '' : '; ?force=true stores it all the same';
}
