import type { KeyObject } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { encodePem } from '../../crypto/asn1/pem.js';
import { exportPrivateKey, importPrivateKey, keysMatch } from '../../crypto/keys/keys.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import type { TlsCertificateRow } from '../../db/pki/tls-certificate-repository.js';
import { splitChain } from '../certificates/certificate-chain.js';
import { privateKeyIdentity } from '../master-key/master-key.js';

/** What this server shows to its clients, and signs profiles with. */
export interface ServerIdentity {
  certificate: ParsedCertificate;
  /** Its issuer first. */
  chain: readonly ParsedCertificate[];
  privateKey: KeyObject;
  /** PEM for TLS, the chain included. */
  cert: string;
  key: string;
}

/** Throws when the key is another's, or when TLS will not do with them. */
export function serverIdentity(
  parts: Pick<ServerIdentity, 'certificate' | 'chain' | 'privateKey'>,
): ServerIdentity {
  const { certificate, chain, privateKey } = parts;
  // OpenSSL takes a key of another kind as the first half of another pair, and then can't shake hands.
  if (!keysMatch(privateKey, certificate.publicKey)) {
    throw new Error('the private key does not belong to the certificate');
  }
  const cert = [certificate, ...chain].map(({ der }) => encodePem('CERTIFICATE', der)).join('');
  const key = encodePem('PRIVATE KEY', exportPrivateKey(privateKey));
  createSecureContext({ cert, key });
  return { ...parts, cert, key };
}

/** Of a stored certificate. Throws when its key does not open, or is another's. */
export function identityOfRow(row: TlsCertificateRow, box: SecretBox): ServerIdentity {
  const pkcs8 = box.open(row.sealed_pkcs8, privateKeyIdentity(row.key_fingerprint));
  return serverIdentity({
    certificate: parseCertificate(row.der),
    chain: splitChain(row.chain_der).map(parseCertificate),
    privateKey: importPrivateKey(pkcs8),
  });
}

export function isSameIdentity(one: ServerIdentity, other: ServerIdentity): boolean {
  return one.cert === other.cert && one.key === other.key;
}
