import { randomBytes, randomUUID } from 'node:crypto';
import { parseCertificate } from '../../src/crypto/x509/certificate.js';
import { buildCsr } from '../../src/crypto/x509/csr.js';
import { EnrollmentChallenges } from '../../src/pki/authority/enrollment-challenge.js';
import { buildPlist, type PlistDict, parsePlistDict } from '../../src/protocol/plist/plist.js';
import { type Identity, identityOf } from '../crypto/identities.js';
import { MACHINE, signedBy } from '../dep/asking-device.js';
import type { TestApp } from '../helpers/app.js';
import { deviceKeys, type Fields } from '../helpers/device.js';
import { buildPkcsReq, type CertRep, readCertRep } from '../helpers/scep-client.js';

export interface Answer {
  status: number;
  headers: Headers;
  body: Buffer;
}

export async function post({ url }: TestApp, path: string, der: Buffer): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    body: new Uint8Array(der),
    headers: { 'Content-Type': 'application/pkcs7-signature' },
  });
  const { status, headers } = response;
  return { status, headers, body: Buffer.from(await response.arrayBuffer()) };
}

/** The profile in an answer. */
export function profileIn({ status, body }: Answer): PlistDict & { PayloadContent: PlistDict[] } {
  if (status !== 200) throw new Error(`answered ${status}: ${body.toString()}`);
  return parsePlistDict(body) as PlistDict & { PayloadContent: PlistDict[] };
}

export async function get({ url }: TestApp, path: string): Promise<Answer> {
  const response = await fetch(`${url}${path}`);
  const { status, headers } = response;
  return { status, headers, body: Buffer.from(await response.arrayBuffer()) };
}

/** The challenge of a Profile Service. */
export async function otaChallenge(app: TestApp, query = ''): Promise<string> {
  const { PayloadContent } = profileIn(await get(app, `/enroll/ota${query}`));
  return String((PayloadContent as unknown as PlistDict).Challenge);
}

/** What a device signs, with or without a challenge; empty text leaves a key out. */
export function attributes(facts: Fields = {}): Buffer {
  const present = Object.entries({ ...MACHINE, ...facts }).filter(([, value]) => value !== '');
  return buildPlist(Object.fromEntries(present));
}

/** Posts the attributes of a device to the exchange over the air. */
export function authenticate(app: TestApp, signer: Identity, facts: Fields = {}): Promise<Answer> {
  return post(app, '/enroll/ota_authenticate', signedBy(signer, attributes(facts)));
}

/** The contents of the SCEP payload. */
export function scepIn(answer: Answer): PlistDict {
  const payloads = profileIn(answer).PayloadContent;
  const scep = payloads.find(({ PayloadType }) => PayloadType === 'com.apple.security.scep');
  return scep?.PayloadContent as PlistDict;
}

/** What the challenge in the profile was made for. */
export function challengeIn({ box }: TestApp, answer: Answer) {
  const challenges = new EnrollmentChallenges({ box });
  return challenges.readChallenge(String(scepIn(answer).Challenge));
}

/** Asks SCEP for a certificate by the challenge in the profile. */
export async function askForCertificate(app: TestApp, answer: Answer): Promise<CertRep> {
  const keys = await deviceKeys();
  const csr = buildCsr({
    subject: [{ type: 'CN', value: randomUUID() }],
    ...keys,
    challengePassword: String(scepIn(answer).Challenge),
  });
  const parties = {
    signerCertificate: identityOf(keys).certificate,
    signerKey: keys.privateKey,
    caCertificate: app.authority.certificate,
    transactionId: randomBytes(8).toString('hex'),
    senderNonce: randomBytes(16),
  };
  const message = buildPkcsReq({ ...parties, csr, cipher: 'aes-128-cbc', digest: 'sha256' });
  const { status, body } = await post(app, '/scep?operation=PKIOperation', message);
  if (status !== 200) throw new Error(`SCEP answered ${status}`);
  return readCertRep(body, parties);
}

/** The identity that SCEP issues for the challenge in the profile. */
export async function identityFrom(app: TestApp, answer: Answer): Promise<Identity> {
  const reply = await askForCertificate(app, answer);
  const [certificate] = reply.status === 'success' ? reply.certificates : [];
  if (certificate === undefined) throw new Error(`SCEP: ${reply.status}`);
  return { ...(await deviceKeys()), certificate: parseCertificate(certificate.der) };
}
