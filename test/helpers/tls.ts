import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Oid } from '../../src/crypto/asn1/oids.js';
import { encodePem } from '../../src/crypto/asn1/pem.js';
import { exportPrivateKey } from '../../src/crypto/keys/keys.js';
import { ecIdentity, type Identity } from '../crypto/identities.js';
import { temporaryDirectory } from './temporary-directory.js';

/** A self-signed certificate for localhost. */
export function localhostIdentity(): Promise<Identity> {
  return ecIdentity('P-256', {
    subject: [{ type: 'CN', value: 'localhost' }],
    subjectAltName: [{ type: 'dns', value: 'localhost' }],
    keyUsage: ['digitalSignature'],
    extendedKeyUsage: [Oid.serverAuth],
  });
}

/** Settings of a server with such a certificate in files. */
export async function temporaryTls(): Promise<Record<string, string>> {
  const { certificate, privateKey } = await localhostIdentity();
  const directory = temporaryDirectory();
  const write = (name: string, pem: string) => {
    writeFileSync(join(directory, name), pem);
    return join(directory, name);
  };
  return {
    TLS_CERT_FILE: write('cert.pem', encodePem('CERTIFICATE', certificate.der)),
    TLS_KEY_FILE: write('key.pem', encodePem('PRIVATE KEY', exportPrivateKey(privateKey))),
  };
}
