import { hash, randomBytes } from 'node:crypto';
import { parseSignedData } from '../../crypto/cms/cms-signed-data.js';
import { generateRsaKeyPair, type KeyPair, publicKeyFingerprint } from '../../crypto/keys/keys.js';
import {
  issueCertificate,
  type ParsedCertificate,
  parseCertificate,
} from '../../crypto/x509/certificate.js';
import { buildPkcsReq, type CertRep, readCertRep } from '../../protocol/scep/scep.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { ScepSettings } from '../enrollment/enrollment-profile.js';
import type { HttpClient } from '../wire/http-client.js';
import type { HttpReply } from '../wire/http-reply.js';
import { LabError } from '../wire/lab-error.js';
import type { MdmIdentity } from '../wire/mdm-client.js';
import { buildDeviceCsr } from './device-csr.js';

export interface ScepRequest {
  http: HttpClient;
  scep: ScepSettings;
  device: SimulatedDevice;
  /** Made anew when absent, with the size that the profile asks for. */
  keys?: KeyPair;
}

const DAY_MS = 86_400_000;
const NONCE_BYTES = 16;

const FAILURES = ['badAlg', 'badMessageCheck', 'badRequest', 'badTime', 'badCertId'] as const;

/** Digest by length: Apple's payload carries SHA-1 or MD5, others SHA-256. */
const FINGERPRINTS = new Map([
  [16, 'md5'],
  [20, 'sha1'],
  [32, 'sha256'],
]);

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

function checkFingerprint(expected: Buffer | undefined, certificates: ParsedCertificate[]): void {
  if (expected === undefined) return;
  const digest = FINGERPRINTS.get(expected.length);
  const isRight = certificates.some(
    ({ der }) => digest !== undefined && hash(digest, der, 'buffer').equals(expected),
  );
  if (!isRight) throw new LabError('the CA is not the one whose fingerprint the profile names');
}

async function fetchAuthority({ http, scep }: ScepRequest): Promise<ParsedCertificate> {
  const url = operationUrl(scep.url, 'GetCACert', scep.name);
  const reply = await http.send({ method: 'GET', url });
  const body = expectOk(reply, 'GetCACert');
  const isBundle = String(reply.headers['content-type']).includes('ca-ra-cert');
  const certificates = (isBundle ? parseSignedData(body).certificates : [body]).map(
    parseCertificate,
  );
  checkFingerprint(scep.caFingerprint, certificates);
  const [authority] = certificates;
  if (authority === undefined) throw new LabError('GetCACert returned no certificate');
  // RFC 8894 4.2.1.2: with an RA in the bundle, messages go to and come from the RA.
  return certificates.find(({ isCa }) => !isCa) ?? authority;
}

/** A first request has nobody to vouch for it: the message is signed by a certificate of its own. */
function issueSigner({ publicKey, privateKey }: KeyPair): ParsedCertificate {
  return parseCertificate(
    issueCertificate({
      subject: [{ type: 'CN', value: 'Simulated SCEP client' }],
      publicKey,
      issuerKey: privateKey,
      notBefore: new Date(Date.now() - DAY_MS),
      notAfter: new Date(Date.now() + DAY_MS),
      keyUsage: ['digitalSignature', 'keyEncipherment'],
    }),
  );
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

async function exchange(request: ScepRequest, keys: KeyPair): Promise<CertRep> {
  const { scep, device } = request;
  const [capabilities, caCertificate] = await Promise.all([
    fetchCapabilities(request),
    fetchAuthority(request),
  ]);
  const parties = {
    signerCertificate: issueSigner(keys),
    signerKey: keys.privateKey,
    caCertificate,
    transactionId: publicKeyFingerprint(keys.publicKey).toString('hex'),
    senderNonce: randomBytes(NONCE_BYTES),
  };
  const isModern = capabilities.has('SCEPStandard');
  const message = buildPkcsReq({
    ...parties,
    csr: buildDeviceCsr(scep, device, keys),
    cipher: isModern || capabilities.has('AES') ? 'aes-128-cbc' : 'des-ede3-cbc',
    digest: isModern || capabilities.has('SHA-256') ? 'sha256' : 'sha1',
  });
  const reply = await send(request, capabilities, message);
  return readCertRep(expectOk(reply, 'PKIOperation'), parties);
}

/** What the CA says in its own words goes to a terminal. */
function reasonOf({ failInfo, failInfoText }: Extract<CertRep, { status: 'failure' }>): string {
  const reason = FAILURES[failInfo] ?? `failInfo ${failInfo}`;
  if (failInfoText === undefined) return reason;
  return `${reason}, ${failInfoText.replace(/[\p{Cc}\p{Cf}]/gu, ' ')}`;
}

/** Gets the device its identity from the SCEP server of the profile (RFC 8894). */
export async function requestIdentity(request: ScepRequest): Promise<MdmIdentity> {
  const keys = request.keys ?? (await generateRsaKeyPair(request.scep.keySize));
  const answer = await exchange(request, keys);
  if (answer.status === 'pending') throw new LabError('the CA wants a person to decide first');
  if (answer.status === 'failure') {
    throw new LabError(`the CA refused the request: ${reasonOf(answer)}`);
  }
  const wanted = publicKeyFingerprint(keys.publicKey);
  const certificate = answer.certificates.find(({ publicKey }) =>
    publicKeyFingerprint(publicKey).equals(wanted),
  );
  if (certificate === undefined) throw new LabError('the CA sent no certificate for the key');
  return { certificate: certificate.der, privateKey: keys.privateKey };
}
