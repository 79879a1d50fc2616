import { type ParsedCertificate, parseCertificates } from '../../crypto/x509/certificate.js';
import { findCertificatePath } from '../../crypto/x509/certificate-path.js';

/** A client can send many; each may cost a signature check at every level. */
const MAX_CHAIN = 8;

/** `issuer` is the issuer that the certificate names, for the log. */
export type FactoryCaVerdict = { ok: true } | { ok: false; issuer: string };

/**
 * Dates are ignored: Apple's CAs have expired while they still issue, and devices use their
 * certificates beyond notAfter. Apple still signs them with SHA-1, which is accepted only here.
 */
const APPLE_PRACTICE = { at: new Date(0), ignoreDates: 'all', allowSha1: true } as const;

/**
 * Decides who may sign as an Apple device that is not enrolled yet: the holder of a factory
 * certificate, which Apple issues when the device is made. Certificates of this server's CAs are
 * not accepted, since one device could then claim to be another.
 */
export class FactoryCaTrust {
  readonly #anchors: readonly ParsedCertificate[];

  /** @param further trusted besides Apple's published CA: those of DEVICE_CA_FILE and of the lab */
  constructor(further: readonly ParsedCertificate[] = []) {
    this.#anchors = [...parseCertificates(Buffer.from(APPLE_FACTORY_CA)), ...further];
  }

  /** `chain`: intermediates that were sent with the certificate. */
  judge(
    certificate: ParsedCertificate,
    chain: readonly ParsedCertificate[] = [],
  ): FactoryCaVerdict {
    const isSound = maySign(certificate) && chain.length <= MAX_CHAIN;
    const options = { anchors: this.#anchors, intermediates: chain, ...APPLE_PRACTICE };
    const path = isSound ? findCertificatePath(certificate, options) : undefined;
    return path === undefined ? { ok: false, issuer: certificate.issuer } : { ok: true };
  }
}

/**
 * The CA of the factory certificates of Apple devices, as published at apple.com/appleca. It is the
 * anchor itself: with Apple's root as the anchor, every developer's certificate would be accepted.
 */
export const APPLE_FACTORY_CA = `\
-----BEGIN CERTIFICATE-----
MIIDaTCCAlGgAwIBAgIBATANBgkqhkiG9w0BAQUFADB5MQswCQYDVQQGEwJVUzET
MBEGA1UEChMKQXBwbGUgSW5jLjEmMCQGA1UECxMdQXBwbGUgQ2VydGlmaWNhdGlv
biBBdXRob3JpdHkxLTArBgNVBAMTJEFwcGxlIGlQaG9uZSBDZXJ0aWZpY2F0aW9u
IEF1dGhvcml0eTAeFw0wNzA0MTYyMjU0NDZaFw0xNDA0MTYyMjU0NDZaMFoxCzAJ
BgNVBAYTAlVTMRMwEQYDVQQKEwpBcHBsZSBJbmMuMRUwEwYDVQQLEwxBcHBsZSBp
UGhvbmUxHzAdBgNVBAMTFkFwcGxlIGlQaG9uZSBEZXZpY2UgQ0EwgZ8wDQYJKoZI
hvcNAQEBBQADgY0AMIGJAoGBAPGUSsnquloYYK3Lok1NTlQZaRdZB2bLl+hmmkdf
Rq5nerVKc1SxywT2vTa4DFU4ioSDMVJl+TPhl3ecK0wmsCU/6TKqewh0lOzBSzgd
Z04IUpRai1mjXNeT9KD+VYW7TEaXXm6yd0UvZ1y8Cxi/WblshvcqdXbSGXH0KWO5
JQuvAgMBAAGjgZ4wgZswDgYDVR0PAQH/BAQDAgGGMA8GA1UdEwEB/wQFMAMBAf8w
HQYDVR0OBBYEFLL+ISNEhpVqedWBJo5zENinTI50MB8GA1UdIwQYMBaAFOc0Ki4i
3jlga7SUzneDYS8xoHw1MDgGA1UdHwQxMC8wLaAroCmGJ2h0dHA6Ly93d3cuYXBw
bGUuY29tL2FwcGxlY2EvaXBob25lLmNybDANBgkqhkiG9w0BAQUFAAOCAQEAd13P
Z3pMViukVHe9WUg8Hum+0I/0kHKvjhwVd/IMwGlXyU7DhUYWdja2X/zqj7W24Aq5
7dEKm3fqqxK5XCFVGY5HI0cRsdENyTP7lxSiiTRYj2mlPedheCn+k6T5y0U4Xr40
FXwWb2nWqCF1AgIudhgvVbxlvqcxUm8Zz7yDeJ0JFovXQhyO5fLUHRLCQFssAbf8
B4i8rYYsBUhYTspVJcxVpIIltkYpdIRSIARA49HNvKK4hzjzMS/OhKQpVKw+OCEZ
xptCVeN2pjbdt9uzi175oVo/u6B2ArKAW17u6XEHIdDMOe7cb33peVI6TD15W4MI
pyQPbp8orlXe+tA8JA==
-----END CERTIFICATE-----
`;

/** RFC 5280 4.2.1.3; the certificate of a CA is never a device's. */
function maySign({ isCa, keyUsage, unknownCriticalExtensions }: ParsedCertificate): boolean {
  if (isCa || unknownCriticalExtensions.length > 0) return false;
  return keyUsage === undefined || keyUsage.includes('digitalSignature');
}
