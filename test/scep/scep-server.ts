import { randomBytes } from 'node:crypto';
import express, { type Express } from 'express';
import request from 'supertest';
import type { KeyPair } from '../../src/crypto/keys/keys.js';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { type ParsedCertificate, parseCertificate } from '../../src/crypto/x509/certificate.js';
import { type BuildCsrOptions, buildCsr } from '../../src/crypto/x509/csr.js';
import { BodyReader } from '../../src/http/bodies/body-reader.js';
import { createProxyTrust } from '../../src/http/requests/trust-proxy.js';
import {
  type CertificateAuthorities,
  createCertificateAuthorities,
} from '../../src/pki/authority/authorities.js';
import type { CertificateAuthority } from '../../src/pki/authority/authority.js';
import { EnrollmentChallenges } from '../../src/pki/authority/enrollment-challenge.js';
import { createTrust, type Trust } from '../../src/pki/trust/trust.js';
import { createScepRouter } from '../../src/scep/router.js';
import type { Identity } from '../crypto/identities.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { storePreparedAuthority } from '../helpers/prepared-authority.js';
import {
  buildPkcsReq,
  type CertRep,
  type PkcsReqOptions,
  readCertRep,
} from '../helpers/scep-client.js';
import { capturingLogger } from '../http/log-lines.js';

export const PKI_OPERATION = '/scep?operation=PKIOperation';

export interface ScepServer extends TestDatabase {
  app: Express;
  box: SecretBox;
  authorities: CertificateAuthorities;
  /** The one that issues at the start. */
  authority: CertificateAuthority;
  trust: Trust;
  challenges: EnrollmentChallenges;
  /** Everything that was logged. */
  logText(): string;
  /** The log line of the last issued certificate. */
  lastIssued(): Record<string, unknown> | undefined;
  /** The logged reason of the last refusal. */
  lastReason(): unknown;
}

/** The SCEP surface alone, on a database of its own. */
export async function startScepServer({ identityGrace = 0 } = {}): Promise<ScepServer> {
  const database = await createTestDatabase();
  const { db } = database;
  const { logger, lines, text } = capturingLogger();
  const box = new SecretBox(randomBytes(32));
  await storePreparedAuthority(db, box);
  const authorities = await createCertificateAuthorities({ db, box, logger });
  const authority = authorities.current;
  const trust = await createTrust({ db, identityGrace });
  const challenges = new EnrollmentChallenges({ box });
  const app = express();
  const bodies = new BodyReader({ proxies: createProxyTrust([]), logger });
  app.use(createScepRouter({ db, authorities, trust, challenges, bodies, logger }));
  const lastReason = () => lines.findLast(({ msg }) => msg === 'scep request refused')?.reason;
  const lastIssued = () => lines.findLast(({ msg }) => msg === 'scep issued a certificate');
  return {
    ...database,
    box,
    app,
    authorities,
    authority,
    trust,
    challenges,
    logText: text,
    lastReason,
    lastIssued,
  };
}

/** The answer's body, with its status and exact content type asserted. */
export async function post(app: Express, message: Buffer): Promise<Buffer> {
  const response = await request(app)
    .post(PKI_OPERATION)
    .set('Content-Type', 'application/x-pki-message')
    .send(message)
    .buffer(true)
    .parse(asBuffer);
  expect(response.status).toBe(200);
  expect(response.headers['content-type']).toBe('application/x-pki-message');
  return response.body as Buffer;
}

export function asBuffer(
  res: request.Response,
  done: (error: Error | null, body: Buffer) => void,
): void {
  const chunks: Buffer[] = [];
  const stream = res as unknown as NodeJS.ReadableStream;
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('end', () => done(null, Buffer.concat(chunks)));
}

export interface Ask extends Partial<Omit<PkcsReqOptions, 'csr'>> {
  csr: Buffer;
  signer: Identity;
}

/** Sends a request as a client would and reads its answer. */
export async function ask(
  server: ScepServer,
  { csr, signer, ...overrides }: Ask,
): Promise<CertRep> {
  const parties = {
    signerCertificate: signer.certificate,
    signerKey: signer.privateKey,
    caCertificate: server.authority.certificate,
    transactionId: randomBytes(8).toString('hex'),
    senderNonce: randomBytes(16),
    ...overrides,
  };
  return readCertRep(await post(server.app, buildPkcsReq({ ...parties, csr })), parties);
}

export function csrOf(keys: KeyPair, overrides: Partial<BuildCsrOptions> = {}): Buffer {
  return buildCsr({
    subject: [
      { type: 'O', value: 'Example' },
      { type: 'CN', value: 'Device' },
    ],
    ...keys,
    ...overrides,
  });
}

/** The issued certificate; fails the test without one. */
export function issuedIn(answer: CertRep): ParsedCertificate {
  if (answer.status !== 'success') throw new Error(`got ${JSON.stringify(answer)}`);
  const [leaf] = answer.certificates;
  if (leaf === undefined) throw new Error('no certificate');
  return leaf;
}

export interface DeviceCertificateRow {
  der: Buffer;
  revoked_at: Date | null;
}

export async function deviceCertificates({ db }: ScepServer): Promise<DeviceCertificateRow[]> {
  return await db
    .knex('certificates')
    .where({ purpose: 'mdm.device' })
    .orderBy('id')
    .select<DeviceCertificateRow[]>('der', 'revoked_at');
}

/** Common names of the certificates that are live, by row. */
export async function liveCertificates(server: ScepServer): Promise<ParsedCertificate[]> {
  const rows = await deviceCertificates(server);
  return rows.filter((row) => row.revoked_at === null).map(({ der }) => parseCertificate(der));
}
