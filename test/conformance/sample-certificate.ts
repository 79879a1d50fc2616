import { generateKeyPairSync } from 'node:crypto';
import { encodePem } from '../../src/crypto/asn1/pem.js';
import { issueCertificate } from '../../src/crypto/x509/certificate.js';

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const made = new Map<number, string>();

function make(index: number): string {
  const der = issueCertificate({
    subject: [{ type: 'CN', value: `sample ${index}` }],
    publicKey: keys.publicKey,
    issuerKey: keys.privateKey,
    notBefore: new Date(Date.now() - 86_400_000),
    notAfter: new Date(Date.now() + 86_400_000),
    keyUsage: ['digitalSignature'],
  });
  return encodePem('CERTIFICATE', der);
}

/** PEM: the same certificate for the same index, signatures of EC keys being random. */
export function sampleCertificate(index: number): string {
  const pem = made.get(index) ?? make(index);
  made.set(index, pem);
  return pem;
}
