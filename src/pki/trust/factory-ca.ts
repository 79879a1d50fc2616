import { type ParsedCertificate, parseCertificates } from '../../crypto/x509/certificate.js';
import { findCertificatePath } from '../../crypto/x509/certificate-path.js';
import { APPLE_DEVICE_CA } from './apple-factory-ca.js';

/** A client can send many; each may cost a signature check at every level. */
const MAX_CHAIN = 8;

/** `issuer` is what the certificate names as its issuer: for the log. */
export type DeviceCaVerdict = { ok: true } | { ok: false; issuer: string };

/**
 * Who may sign as an Apple device that is not enrolled yet: those who hold a certificate that
 * Apple gave the device. What our own CAs issue is not enough, as one device could then claim to be
 * another.
 */
export interface DeviceCaTrust {
  judge(certificate: ParsedCertificate, chain?: readonly ParsedCertificate[]): DeviceCaVerdict;
}

/** RFC 5280 4.2.1.3; a CA never poses as a device. */
function maySign({ isCa, keyUsage, unknownCriticalExtensions }: ParsedCertificate): boolean {
  if (isCa || unknownCriticalExtensions.length > 0) return false;
  return keyUsage === undefined || keyUsage.includes('digitalSignature');
}

/**
 * Whatever the dates say: Apple's CAs have expired while they go on issuing, and devices keep their
 * certificates for longer than these say. Apple still signs them with SHA-1, which is taken from
 * these CAs and from nobody else.
 */
const APPLE_PRACTICE = { at: new Date(0), ignoreDates: 'all', allowSha1: true } as const;

/** Apple's published CA, and those given: of DEVICE_CA_FILE, of the lab. */
export function createDeviceCaTrust(further: readonly ParsedCertificate[] = []): DeviceCaTrust {
  const anchors = [...parseCertificates(Buffer.from(APPLE_DEVICE_CA)), ...further];
  return {
    judge: (certificate, chain = []) => {
      const isSound = maySign(certificate) && chain.length <= MAX_CHAIN;
      const options = { anchors, intermediates: chain, ...APPLE_PRACTICE };
      const path = isSound ? findCertificatePath(certificate, options) : undefined;
      return path === undefined ? { ok: false, issuer: certificate.issuer } : { ok: true };
    },
  };
}
