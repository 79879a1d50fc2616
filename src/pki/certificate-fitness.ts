import type { ParsedCertificate } from '../crypto/certificate.js';
import { allowsPurpose } from '../crypto/certificate-path.js';
import { describeKey } from '../crypto/keys.js';
import { Oid } from '../crypto/oids.js';
import { describePublicKeyInfo } from '../crypto/public-key-info.js';
import type { CertificatePurpose } from '../db/certificate-repository.js';
import type { ErrorCode } from '../errors.js';

const MIN_RSA_BITS = 2048;
/** Apple's push certificates name their topic in the UID of the subject. */
const PUSH_TOPIC = /^com\.apple\.mgmt\../;

export interface Unfitness {
  detail: string;
  code: ErrorCode;
}

type Check = (certificate: ParsedCertificate) => string | undefined;

const isAuthority: Check = ({ isCa, keyUsage }) =>
  isCa && (keyUsage === undefined || keyUsage.includes('keyCertSign'))
    ? undefined
    : 'it is not the certificate of a CA';

/** Apple's portal takes requests signed with SHA-256 and RSA only. */
const isVendor: Check = ({ isCa, publicKeyRaw }) =>
  !isCa && describePublicKeyInfo(publicKeyRaw)?.type === 'RSA'
    ? undefined
    : 'it is no MDM vendor certificate: those have an RSA key and are no CAs';

const PURPOSE_CHECKS: Partial<Record<CertificatePurpose, Check>> = {
  'mdm.cacert': isAuthority,
  'mdm.pushcert': ({ userId = '' }) =>
    PUSH_TOPIC.test(userId)
      ? undefined
      : 'it is no push certificate of Apple: its subject has no UID that begins with com.apple.mgmt.',
  'mdm.webcrt': (certificate) =>
    allowsPurpose(certificate, Oid.serverAuth) ? undefined : 'it is not meant for servers',
  'mdm.device': (certificate) =>
    !certificate.isCa && allowsPurpose(certificate, Oid.clientAuth)
      ? undefined
      : 'it is not meant for clients',
  'mdm.vendor': isVendor,
};

/** Why the certificate can't serve the purpose, whatever the time. */
export function purposeFault(
  certificate: ParsedCertificate,
  purpose: CertificatePurpose,
): Unfitness | undefined {
  const detail = PURPOSE_CHECKS[purpose]?.(certificate);
  return detail === undefined ? undefined : { detail, code: 'validation_failed' };
}

function timeFault({ notBefore, notAfter }: ParsedCertificate, now: Date): Unfitness | undefined {
  const code = 'certificate_not_valid';
  if (now < notBefore) return { code, detail: `it is not valid before ${notBefore.toISOString()}` };
  if (now > notAfter) return { code, detail: `it expired at ${notAfter.toISOString()}` };
  return undefined;
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

export interface Intended {
  purpose: CertificatePurpose;
  /** When it has to be valid; any time will do where there is none. */
  at: Date | undefined;
}

/** All that speaks against taking the certificate for this purpose. */
export function unfitness(certificate: ParsedCertificate, { purpose, at }: Intended): Unfitness[] {
  const found = [
    keyFault(certificate),
    at && timeFault(certificate, at),
    purposeFault(certificate, purpose),
  ];
  return found.filter((fault) => fault !== undefined);
}
