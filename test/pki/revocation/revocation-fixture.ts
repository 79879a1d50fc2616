import { type IncomingHttpHeaders, request } from 'node:http';
import type { ParsedCertificate } from '../../../src/crypto/x509/certificate.js';
import { insertCertificate } from '../../../src/db/pki/certificate-repository.js';
import { certificateRecord } from '../../../src/pki/certificates/certificate-record.js';
import { adminApi, type TestApp } from '../../helpers/app.js';
import { deviceKeys, issueIdentity } from '../../helpers/device.js';

export interface StoredIdentity {
  id: number;
  certificate: ParsedCertificate;
}

/** An identity of a device as SCEP records it. */
export async function storedIdentity(
  { db, container }: TestApp,
  times: { not_before?: Date; not_after?: Date } = {},
): Promise<StoredIdentity> {
  const certificate = issueIdentity(container.authorities.current, await deviceKeys());
  const record = { ...certificateRecord(certificate, 'mdm.device'), ...times };
  return { id: await insertCertificate(db.knex, record), certificate };
}

/** Rotates the CA. Returns the id of the former one. */
export async function rotateAuthority(app: TestApp): Promise<number> {
  const { id } = app.container.authorities.current;
  const { status, text } = await adminApi(app).post('/ca_certificates/rotate');
  if (status !== 200 && status !== 201) throw new Error(`${status} ${text}`);
  return id;
}

export interface Fetched {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface SendOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: Buffer;
}

/** A plain request: `fetch` would add cache headers of its own. */
export function send(url: string, options: SendOptions = {}): Promise<Fetched> {
  const { method = 'GET', headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const { statusCode: status = 0, headers: received } = response;
        resolve({ status, headers: received, body: Buffer.concat(chunks) });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
