import { generateRsaKeyPair } from '../../crypto/keys/keys.js';
import { issueCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import type { LabAuthority } from './lab-authority.js';

const DAY_MS = 86_400_000;
const DAYS = 3_650;

/** The CA that certifies simulated devices, where Apple certifies real ones at their activation. */
export async function createLabDeviceCa(): Promise<LabAuthority> {
  const { privateKey, publicKey } = await generateRsaKeyPair();
  const der = issueCertificate({
    subject: [
      { type: 'O', value: 'Muster' },
      { type: 'CN', value: 'Muster Lab Device CA' },
    ],
    publicKey,
    issuerKey: privateKey,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + DAYS * DAY_MS),
    isCa: true,
    pathLength: 0,
    keyUsage: ['keyCertSign', 'cRLSign'],
  });
  return { certificate: parseCertificate(der), privateKey };
}
