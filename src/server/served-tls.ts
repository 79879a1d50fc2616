import type { Config } from '../config/config.js';
import { ProfileSigner } from '../enroll/send-profile.js';
import type { TlsSettings } from '../http/server/tls.js';
import type { TlsCertificates } from '../pki/tls/tls-certificates.js';

/** The server's TLS certificate signs the profiles too, so that devices show them as verified. */
export function currentSigner({ current }: TlsCertificates): ProfileSigner | undefined {
  return current && new ProfileSigner(current, current.chain);
}

/** Empty over plain HTTP. */
export function shownChain({ current, servesTls }: TlsCertificates): Buffer[] {
  if (current === undefined || !servesTls) return [];
  return [current.certificate, ...current.chain].map(({ der }) => der);
}

export function tlsSettings(
  certificates: TlsCertificates,
  config: Config,
): TlsSettings | undefined {
  const { current, servesTls } = certificates;
  if (current === undefined || !servesTls) return undefined;
  const { cert, key } = current;
  const onChange: TlsSettings['onChange'] = (swap) => certificates.onChange(swap);
  return { cert, key, onChange, requestClientCertificate: config.tlsClientCert };
}
