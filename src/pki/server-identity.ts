import type { KeyObject } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { type ParsedCertificate, parseCertificate } from '../crypto/certificate.js';
import { exportPrivateKey, importPrivateKey } from '../crypto/keys.js';
import { decodePem, encodePem } from '../crypto/pem.js';
import type { SecretBox } from '../crypto/secret-box.js';
import type { TlsCertificateRow } from '../db/tls-certificate-repository.js';
import { privateKeyIdentity } from './master-key.js';
import { splitChain } from './stored-chain.js';

/** What this server shows to its clients, and signs profiles with. */
export interface ServerIdentity {
  certificate: ParsedCertificate;
  /** Its issuer first. */
  chain: readonly ParsedCertificate[];
  privateKey: KeyObject;
  /** PEM for TLS, the chain included. */
  cert: string | Buffer;
  key: string | Buffer;
}

/** OpenSSL finds out what TLS will not do, and whether the key is the certificate's. */
function checked(identity: ServerIdentity): ServerIdentity {
  createSecureContext({ cert: identity.cert, key: identity.key });
  return identity;
}

/** Of PEM files, the certificate first. Throws what is wrong with them. */
export function identityOfFiles(cert: Buffer, key: Buffer): ServerIdentity {
  const blocks = decodePem(cert.toString('latin1'));
  const [certificate, ...chain] = blocks.map(({ der }) => parseCertificate(der));
  if (certificate === undefined) throw new Error('there is no certificate');
  return checked({ certificate, chain, privateKey: importPrivateKey(key), cert, key });
}

/** Of a stored certificate. Throws when its key does not open, or is another's. */
export function identityOfRow(row: TlsCertificateRow, box: SecretBox): ServerIdentity {
  const pkcs8 = box.open(row.sealed_pkcs8, privateKeyIdentity(row.key_fingerprint));
  const privateKey = importPrivateKey(pkcs8);
  const ders = [row.der, ...splitChain(row.chain_der)];
  return checked({
    certificate: parseCertificate(row.der),
    chain: ders.slice(1).map(parseCertificate),
    privateKey,
    cert: ders.map((der) => encodePem('CERTIFICATE', der)).join(''),
    key: encodePem('PRIVATE KEY', exportPrivateKey(privateKey)),
  });
}

export function isSameIdentity(one: ServerIdentity, other: ServerIdentity): boolean {
  return (
    Buffer.from(one.cert).equals(Buffer.from(other.cert)) &&
    Buffer.from(one.key).equals(Buffer.from(other.key))
  );
}
