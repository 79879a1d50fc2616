import { createPublicKey, hash, type KeyObject, X509Certificate } from 'node:crypto';
import forge from 'node-forge';
import { generateRsaKeyPair, type KeyPair } from '../../crypto/keys/keys.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { ScepSettings } from '../enrollment/enrollment-profile.js';
import type { HttpClient } from '../wire/http-client.js';
import type { HttpReply } from '../wire/http-reply.js';
import { LabError } from '../wire/lab-error.js';
import type { MdmIdentity } from '../wire/mdm-client.js';
import { writeNode } from './asn1.js';
import { readCertificates } from './cms-signed-data.js';
import { buildDeviceCsr } from './device-csr.js';
import { signStructure, toForgeKey } from './forge-key.js';
import { buildScepRequest, newNonce, readScepAnswer, type ScepAnswer } from './scep-message.js';

export interface ScepRequest {
  http: HttpClient;
  scep: ScepSettings;
  device: SimulatedDevice;
  /** Generated when absent, with the size that the profile asks for. */
  keys?: KeyPair | undefined;
}

const DAY_MS = 86_400_000;

const FAILURES = ['badAlg', 'badMessageCheck', 'badRequest', 'badTime', 'badCertId'] as const;

/** Digest by length: Apple's payload carries SHA-1 or MD5, others SHA-256. */
const FINGERPRINTS = new Map([
  [16, 'md5'],
  [20, 'sha1'],
  [32, 'sha256'],
]);

/** Requests the device's identity from the SCEP server of the profile (RFC 8894). */
export async function requestIdentity(request: ScepRequest): Promise<MdmIdentity> {
  const keys = request.keys ?? (await generateRsaKeyPair(request.scep.keySize));
  const answer = await exchange(request, keys);
  if (answer.status === 'pending') throw new LabError('the CA waits for an approval');
  if (answer.status === 'failure') {
    throw new LabError(`the CA refused the request: ${reasonOf(answer)}`);
  }
  const wanted = fingerprintOf(keys.publicKey);
  const certificate = answer.certificates.find(
    (der) => fingerprintOf(new X509Certificate(der).publicKey) === wanted,
  );
  if (certificate === undefined) throw new LabError('the CA sent no certificate for the key');
  return { certificate, privateKey: keys.privateKey };
}

function operationUrl(url: string, operation: string, message?: string): string {
  const target = new URL(url);
  target.searchParams.set('operation', operation);
  if (message !== undefined) target.searchParams.set('message', message);
  return target.href;
}

function expectOk({ status, body }: HttpReply, operation: string): Buffer {
  if (status !== 200) throw new LabError(`SCEP ${operation} answered ${status}`);
  return body;
}

async function fetchCapabilities({ http, scep }: ScepRequest): Promise<Set<string>> {
  const url = operationUrl(scep.url, 'GetCACaps');
  const body = expectOk(await http.send({ method: 'GET', url }), 'GetCACaps');
  return new Set(body.toString().split(/\s+/));
}

function checkFingerprint(expected: Buffer | undefined, certificates: Buffer[]): void {
  if (expected === undefined) return;
  const digest = FINGERPRINTS.get(expected.length);
  const isRight = certificates.some(
    (der) => digest !== undefined && hash(digest, der, 'buffer').equals(expected),
  );
  if (!isRight) throw new LabError('the CA is not the one whose fingerprint the profile names');
}

async function fetchAuthority({ http, scep }: ScepRequest): Promise<Buffer> {
  const url = operationUrl(scep.url, 'GetCACert', scep.name);
  const reply = await http.send({ method: 'GET', url });
  const body = expectOk(reply, 'GetCACert');
  const isBundle = String(reply.headers['content-type']).includes('ca-ra-cert');
  const certificates = isBundle ? readCertificates(body) : [body];
  checkFingerprint(scep.caFingerprint, certificates);
  const [authority] = certificates;
  if (authority === undefined) throw new LabError('GetCACert returned no certificate');
  // RFC 8894 4.2.1.2: with an RA in the bundle, messages go to and come from the RA.
  return certificates.find((der) => !new X509Certificate(der).ca) ?? authority;
}

/** The first request has no certificate yet: it is signed with a self-signed one (RFC 8894 2.3). */
function issueSigner({ publicKey, privateKey }: KeyPair): Buffer {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = toForgeKey(publicKey);
  certificate.serialNumber = '01';
  certificate.validity.notBefore = new Date(Date.now() - DAY_MS);
  certificate.validity.notAfter = new Date(Date.now() + DAY_MS);
  const name = [{ shortName: 'CN', value: 'Simulated SCEP client' }];
  certificate.setSubject(name);
  certificate.setIssuer(name);
  certificate.setExtensions([
    { name: 'keyUsage', critical: true, digitalSignature: true, keyEncipherment: true },
  ]);
  signStructure(certificate, privateKey);
  return writeNode(forge.pki.certificateToAsn1(certificate));
}

/** SHA-256 of the SubjectPublicKeyInfo, hexadecimal. */
function fingerprintOf(key: KeyObject): string {
  const publicKey = key.type === 'public' ? key : createPublicKey(key);
  return hash('sha256', publicKey.export({ type: 'spki', format: 'der' }), 'hex');
}

function send(request: ScepRequest, capabilities: Set<string>, message: Buffer) {
  const { http, scep } = request;
  const url = operationUrl(scep.url, 'PKIOperation');
  const headers = { 'Content-Type': 'application/x-pki-message' };
  if (capabilities.has('POSTPKIOperation') || capabilities.has('SCEPStandard')) {
    return http.send({ method: 'POST', url, headers, body: message });
  }
  const getUrl = operationUrl(scep.url, 'PKIOperation', message.toString('base64'));
  return http.send({ method: 'GET', url: getUrl });
}

async function exchange(request: ScepRequest, keys: KeyPair): Promise<ScepAnswer> {
  const { scep, device } = request;
  const [capabilities, caCertificate] = await Promise.all([
    fetchCapabilities(request),
    fetchAuthority(request),
  ]);
  const parties = {
    signerCertificate: issueSigner(keys),
    signerKey: keys.privateKey,
    caCertificate,
    transactionId: fingerprintOf(keys.publicKey),
    senderNonce: newNonce(),
  };
  const isModern = capabilities.has('SCEPStandard');
  const message = buildScepRequest({
    ...parties,
    csr: buildDeviceCsr(scep, device, keys),
    cipher: isModern || capabilities.has('AES') ? 'aes128-CBC' : 'des-EDE3-CBC',
    digest: isModern || capabilities.has('SHA-256') ? 'sha256' : 'sha1',
  });
  const reply = await send(request, capabilities, message);
  return readScepAnswer(expectOk(reply, 'PKIOperation'), parties);
}

/** Without control characters: the CA's text is printed on a terminal. */
function reasonOf({ failInfo, failInfoText }: Extract<ScepAnswer, { status: 'failure' }>): string {
  const reason = FAILURES[failInfo] ?? `failInfo ${failInfo}`;
  if (failInfoText === undefined) return reason;
  return `${reason}, ${failInfoText.replace(/[\p{Cc}\p{Cf}]/gu, ' ')}`;
}
