import type { KeyObject } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { encodePem } from '../../crypto/asn1/pem.js';
import { exportPrivateKey, importPrivateKey, keysMatch } from '../../crypto/keys/keys.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import type { TlsCertificateRow } from '../../db/pki/tls-certificate-repository.js';
import { splitChain } from '../certificates/certificate-chain.js';
import { privateKeyLabel } from '../master-key/master-key.js';

/** The TLS certificate and key of this server, which also sign profiles. */
export interface ServerIdentity {
  certificate: ParsedCertificate;
  /** Its issuer first. */
  chain: readonly ParsedCertificate[];
  privateKey: KeyObject;
  /** PEM for TLS, the chain included. */
  cert: string;
  key: string;
}

/** Throws when the key belongs to another certificate, or when OpenSSL rejects them for TLS. */
export function serverIdentity(
  parts: Pick<ServerIdentity, 'certificate' | 'chain' | 'privateKey'>,
): ServerIdentity {
  const { certificate, chain, privateKey } = parts;
  // OpenSSL accepts a key of another kind as the first half of another pair; every handshake then
  // fails.
  if (!keysMatch(privateKey, certificate.publicKey)) {
    throw new Error('the private key does not belong to the certificate');
  }
  const cert = [certificate, ...chain].map(({ der }) => encodePem('CERTIFICATE', der)).join('');
  const key = encodePem('PRIVATE KEY', exportPrivateKey(privateKey));
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SSL_CA_MD_TOO_WEAK') throw error;
    const what =
      'the certificate or one of its chain is signed with SHA-1 or MD5, which TLS refuses';
    throw new Error(`${what}: have it issued again with SHA-256`, { cause: error });
  }
  return { ...parts, cert, key };
}

/**
 * The identity of a stored certificate. Throws when its key does not open or does not belong to it.
 */
export function identityOfRow(row: TlsCertificateRow, box: SecretBox): ServerIdentity {
  const pkcs8 = box.open(row.sealed_pkcs8, privateKeyLabel(row.key_fingerprint));
  return serverIdentity({
    certificate: parseCertificate(row.der),
    chain: splitChain(row.chain_der).map(parseCertificate),
    privateKey: importPrivateKey(pkcs8),
  });
}

export function isSameIdentity(one: ServerIdentity, other: ServerIdentity): boolean {
  return one.cert === other.cert && one.key === other.key;
}
