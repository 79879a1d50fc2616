import { randomBytes } from 'node:crypto';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { type ParsedCertificate, parseCertificate } from '../../src/crypto/x509/certificate.js';
import { buildCsr } from '../../src/crypto/x509/csr.js';
import { EnrollmentChallenges } from '../../src/pki/authority/enrollment-challenge.js';
import { buildPkcsReq, readCertRep } from '../../test/helpers/scep-client.js';
import { HttpConnection } from '../load/http-connection.js';
import { type Measured, ofLane, runLanes } from '../load/measure.js';
import { usageOf } from '../load/process-usage.js';
import type { ServerProcess } from '../load/server-process.js';
import { type Identity, makeAuthority, makeIdentities } from './identities.js';

export interface ScepResult extends Measured {
  /** For each second of CPU that the server used. */
  perCpuSecond: number;
  /** The longest in ms that the server's event loop was held. */
  heldMs: number;
}

interface Exchange {
  request: Buffer;
  /** Throws unless the answer holds a certificate. */
  check(body: Buffer): void;
}

const KEYS = 32;

interface ExchangeFixture {
  port: number;
  challenge: () => string;
  caCertificate: ParsedCertificate;
}

export interface ScepLoadOptions {
  server: ServerProcess;
  /** The server's, so that challenges can be made here. */
  masterKey: Buffer;
  requests: number;
  connections: number;
}

/** Certificates issued over real HTTP to a real server and database; every answer is opened. */
export async function measureScep(options: ScepLoadOptions): Promise<ScepResult> {
  const { server, masterKey, requests, connections } = options;
  const { port, pid } = server;
  const exchanges = await prepare(port, masterKey, requests);
  const answers: [Exchange, Buffer][] = [];
  await server.loopHeldMs();
  const before = usageOf(pid)?.cpuSeconds ?? 0;
  const measured = await runLanes(connections, async (lane, recorder) => {
    const connection = await HttpConnection.open(port);
    for (const exchange of ofLane(exchanges, lane, connections)) {
      const startedAt = recorder.now();
      const { status, body } = await connection.send(exchange.request);
      recorder.done(startedAt, status === 200);
      answers.push([exchange, Buffer.from(body)]);
    }
    connection.close();
  });
  const used = (usageOf(pid)?.cpuSeconds ?? 0) - before;
  const heldMs = await server.loopHeldMs();
  for (const [exchange, body] of answers) exchange.check(body);
  return { ...measured, perCpuSecond: requests / used, heldMs };
}

/** First requests of devices, each with a challenge of its own, made ready beforehand. */
async function prepare(port: number, masterKey: Buffer, count: number): Promise<Exchange[]> {
  const challenges = new EnrollmentChallenges({ box: new SecretBox(masterKey) });
  const caCertificate = await fetchAuthority(port);
  const signers = await makeAuthority();
  const devices = await makeIdentities(signers, { kind: 'RSA', count, keys: KEYS });
  const fixture = { port, caCertificate, challenge: () => challenges.issueChallenge() };
  return devices.map((device) => exchangeOf(device, fixture));
}

async function fetchAuthority(port: number): Promise<ParsedCertificate> {
  const reply = await fetch(`http://127.0.0.1:${port}/scep?operation=GetCACert`);
  return parseCertificate(Buffer.from(await reply.arrayBuffer()));
}

function exchangeOf(
  device: Identity,
  { port, challenge, caCertificate }: ExchangeFixture,
): Exchange {
  const { certificate, privateKey } = device;
  const { publicKey } = certificate;
  const parties = {
    signerCertificate: certificate,
    signerKey: privateKey,
    caCertificate,
    transactionId: randomBytes(16).toString('hex'),
    senderNonce: randomBytes(16),
  };
  const csr = buildCsr({
    subject: [{ type: 'CN', value: certificate.commonName ?? '' }],
    publicKey,
    privateKey,
    challengePassword: challenge(),
  });
  const message = buildPkcsReq({ ...parties, csr, cipher: 'aes-128-cbc', digest: 'sha256' });
  return {
    request: frame(port, message),
    check: (body) => {
      const { status } = readCertRep(body, parties);
      if (status !== 'success') throw new Error(`SCEP answered ${status}`);
    },
  };
}

function frame(port: number, body: Buffer): Buffer {
  const head =
    `POST /scep?operation=PKIOperation HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n` +
    `Content-Type: application/x-pki-message\r\nContent-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}
