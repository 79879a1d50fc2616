import { readFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import type { Config } from '../../config/config.js';
import { AppError } from '../../errors.js';
import { omitAbsent } from '../../protocol/omit-absent.js';

export interface ApiCall {
  method: string;
  url: URL;
  token: string;
  headers: Record<string, string>;
  body?: Buffer | undefined;
  /** PEM of CAs to trust besides the well-known ones. */
  ca?: string | undefined;
}

export interface ApiReply {
  status: number;
  statusText: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

const TIMEOUT_MS = 60_000;

/** Sends one request to the API. Without an answer, AppError with the next step. */
export function callApi(call: ApiCall): Promise<ApiReply> {
  const { method, url, token, headers, body, ca } = call;
  const isSecure = url.protocol === 'https:';
  const options: RequestOptions = {
    method,
    timeout: TIMEOUT_MS,
    headers: omitAbsent({
      Accept: 'application/vnd.api+json, */*;q=0.5',
      'Content-Type': body && 'application/vnd.api+json',
      ...headers,
      Authorization: `Bearer ${token}`,
      'Content-Length': body?.length,
    }),
    ca: isSecure && ca !== undefined ? [...rootCertificates, ca] : undefined,
  };
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(explain(error, url));
    const outgoing = (isSecure ? httpsRequest : httpRequest)(url, options, (message) => {
      const { statusCode: status = 0, statusMessage: statusText = '', headers } = message;
      message
        .toArray()
        .then((chunks: Buffer[]) => Buffer.concat(chunks))
        .then((body) => resolve({ status, statusText, headers, body }), fail);
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer within a minute')));
    outgoing.on('error', fail);
    outgoing.end(body);
  });
}

function explain(error: Error & { code?: string }, { origin }: URL): AppError {
  const code = error.code ?? '';
  if (code === 'ECONNREFUSED') {
    return failure(`nothing listens at ${origin}: is the server running? (--url names another)`);
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return failure(`the host of ${origin} is not known`);
  }
  if (/SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER|VERIFY)/.test(code)) {
    return failure(`the certificate of ${origin} is of an unknown CA: pass that CA by --ca FILE`);
  }
  return failure(`no answer from ${origin} (${error.message})`);
}

function failure(message: string): AppError {
  return new AppError('unavailable', 503, message);
}

/** Where the server writes the token of its first start. */
export function adminTokenFile({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'admin-token');
}

/** ADMIN_TOKEN, or the token of the server's first start. */
export async function readAdminToken(
  config: Pick<Config, 'adminToken' | 'dataDir'>,
): Promise<string> {
  if (config.adminToken !== undefined) return config.adminToken;
  const file = adminTokenFile(config);
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const why = isMissing ? 'does not exist' : `cannot be read (${(error as Error).message})`;
    throw new AppError(
      'unauthorized',
      401,
      `no token: ${file} ${why}. Set DATA_DIR or ADMIN_TOKEN as the server has them, or pass --token`,
    );
  }
}
