import type { KeyObject } from 'node:crypto';
import { Oid } from '../../src/crypto/asn1/oids.js';
import { generateEcKeyPair, generateRsaKeyPair, type KeyPair } from '../../src/crypto/keys/keys.js';
import {
  issueCertificate,
  type KeyUsage,
  type ParsedCertificate,
  parseCertificate,
} from '../../src/crypto/x509/certificate.js';

export interface Identity {
  certificate: ParsedCertificate;
  privateKey: KeyObject;
}

const DAY_MS = 86_400_000;

export async function makeAuthority(): Promise<Identity> {
  return issue('Benchmark CA', await generateRsaKeyPair(2048), undefined);
}

/** Certificates that all differ; a few keys are shared, for keys cost most of the time. */
export async function makeIdentities(
  authority: Identity,
  { kind, count, keys }: { kind: 'RSA' | 'EC'; count: number; keys: number },
): Promise<Identity[]> {
  const generate = () => (kind === 'RSA' ? generateRsaKeyPair(2048) : generateEcKeyPair('P-256'));
  const pairs = await Promise.all(Array.from({ length: keys }, generate));
  return Array.from({ length: count }, (_, index) => {
    const pair = pairs[index % keys];
    if (pair === undefined) throw new Error('no key');
    return issue(`Device ${index}`, pair, authority);
  });
}

function issue(
  name: string,
  { publicKey, privateKey }: KeyPair,
  issuer: Identity | undefined,
): Identity {
  const isCa = issuer === undefined;
  const keyUsage: KeyUsage[] = isCa ? ['keyCertSign', 'cRLSign'] : ['digitalSignature'];
  const der = issueCertificate({
    subject: [{ type: 'CN', value: name }],
    publicKey,
    isCa,
    keyUsage,
    issuerKey: issuer?.privateKey ?? privateKey,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + 365 * DAY_MS),
    ...(issuer === undefined
      ? {}
      : { issuer: issuer.certificate, extendedKeyUsage: [Oid.clientAuth] }),
  });
  return { certificate: parseCertificate(der), privateKey };
}
