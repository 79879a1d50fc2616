import { randomBytes } from 'node:crypto';
import { generateRsaKeyPair } from '../../crypto/keys/keys.js';
import {
  type Identity,
  issueCertificate,
  parseCertificate,
} from '../../crypto/x509/certificate.js';

const YEARS = 5;

/** Allows for clocks that differ: the portal checks the dates. */
const EARLY_MS = 60 * 60 * 1000;

/** A key pair with a self-signed certificate, to which Apple's portal encrypts server tokens. */
export async function makeTokenCertificate(now = new Date()): Promise<Identity> {
  const { privateKey, publicKey } = await generateRsaKeyPair(2048);
  const name = `Muster enrollment program ${randomBytes(4).toString('hex')}`;
  const der = issueCertificate({
    subject: [{ type: 'CN', value: name }],
    publicKey,
    issuerKey: privateKey,
    notBefore: new Date(now.getTime() - EARLY_MS),
    notAfter: yearsAfter(now),
    keyUsage: ['digitalSignature', 'keyEncipherment'],
  });
  return { certificate: parseCertificate(der), privateKey };
}

function yearsAfter(now: Date): Date {
  const then = new Date(now);
  then.setUTCFullYear(then.getUTCFullYear() + YEARS);
  return then;
}
