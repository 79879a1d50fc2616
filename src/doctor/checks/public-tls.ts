import type { Handshake } from '../address/tls-handshake.js';
import type { Check } from '../check.js';
import { error, type Found, ok } from '../finding.js';
import { judgeCertificate } from './public-certificate.js';

/** Protocols that devices refuse. */
const OLD = ['SSLv3', 'TLSv1', 'TLSv1.1'];

/** Whether devices speak TLS with what answers at PUBLIC_URL, by the rules of App Transport Security. */
export const publicTlsCheck: Check = {
  name: 'public_tls',
  needs: 'nothing',
  limitMs: 20_000,
  run: async ({ config, address, now }) => {
    const { publicUrl } = config;
    const probe = await address();
    if (probe.tlsFailure !== undefined) {
      const { reason, offers } = probe.tlsFailure;
      return [handshakeFinding(publicUrl, reason, offers)];
    }
    if (probe.tls === undefined) return [];
    const { tls, isTrustedWithAnchors = false } = probe;
    const faults = judgeCertificate({ publicUrl, tls, isTrustedWithAnchors, now: now() });
    const until = tls.chain[0]?.validTo;
    const what = `${publicUrl} speaks ${tls.protocol} (${tls.cipher}); its certificate is valid until ${until}.`;
    return faults.length > 0 ? faults : [ok('public_tls', what)];
  },
};

const WHY = 'Apple devices refuse the connection, so that none enrolls or fetches commands.';

function handshakeFinding(publicUrl: string, reason: string, offers: Handshake | undefined): Found {
  if (offers === undefined) {
    const what = `${publicUrl} does not complete a TLS handshake: ${reason}.`;
    const cure =
      'Check that TLS is served on this port: openssl s_client -connect HOST:PORT -servername HOST';
    return error('tls_handshake_failed', { what, why: WHY, cure });
  }
  if (OLD.includes(offers.protocol)) {
    const what = `${publicUrl} speaks ${offers.protocol} at most; devices need TLS 1.2 or newer.`;
    const cure =
      'Allow TLS 1.2 and 1.3 in the proxy that ends TLS (nginx: ssl_protocols TLSv1.2 TLSv1.3).';
    return error('tls_protocol_old', { what, why: WHY, cure });
  }
  const what = `${publicUrl} offers ${offers.cipher} and no cipher suite with forward secrecy.`;
  const cure =
    'Allow ECDHE cipher suites in the proxy that ends TLS (nginx: ssl_ciphers ECDHE+AESGCM).';
  return error('tls_no_forward_secrecy', { what, why: WHY, cure });
}
