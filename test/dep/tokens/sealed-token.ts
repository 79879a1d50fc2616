import { randomBytes } from 'node:crypto';
import { decodePemBlock } from '../../../src/crypto/asn1/pem.js';
import { sealEnvelopedData } from '../../../src/crypto/cms/cms-enveloped-data.js';
import { type ParsedCertificate, parseCertificate } from '../../../src/crypto/x509/certificate.js';
import { ADMIN_TOKEN, type TestApp } from '../../helpers/app.js';
import { composeSmime } from '../../helpers/compose-smime.js';

export type TokenMembers = Record<string, string | undefined>;

/** Like those of Apple's portal; by default each is of a server of its own. */
export function tokenMembers(overrides: TokenMembers = {}): TokenMembers {
  const random = () => randomBytes(12).toString('hex');
  return {
    consumer_key: `CK_${random()}`,
    consumer_secret: `CS_${random()}`,
    access_token: `AT_${random()}`,
    access_secret: `AS_${random()}`,
    access_token_expiry: new Date(Date.now() + 365 * 86_400_000).toISOString(),
    ...overrides,
  };
}

/** What lies in the envelope. */
export function tokenContent(text: string): Buffer {
  return Buffer.from(
    'Content-Type: text/plain;charset=UTF-8\r\nContent-Transfer-Encoding: 7bit\r\n\r\n' +
      `-----BEGIN MESSAGE-----\r\n${text}\r\n-----END MESSAGE-----\r\n`,
  );
}

export function certificateIn(pem: string): ParsedCertificate {
  return parseCertificate(decodePemBlock(pem, 'CERTIFICATE'));
}

export function sealText(pem: string, text: string): Buffer {
  const certificate = certificateIn(pem);
  const der = sealEnvelopedData(tokenContent(text), certificate);
  return composeSmime({ type: 'enveloped-data', der });
}

export function sealToken(pem: string, members: TokenMembers): Buffer {
  return sealText(pem, JSON.stringify(members));
}

export interface Sending {
  token?: string | undefined;
  headers?: Record<string, string>;
  body?: Buffer | FormData | string;
}

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: documents of any shape
  body: any;
}

/** What admins call below /dep, through the real server. */
export function depClient(app: TestApp) {
  const send = async (method: string, path: string, sending: Sending = {}): Promise<Reply> => {
    const { headers = {}, body } = sending;
    const token = 'token' in sending ? sending.token : ADMIN_TOKEN;
    const response = await fetch(`${app.url}/dep${path}`, {
      method,
      body: (body ?? null) as Exclude<RequestInit['body'], undefined>,
      headers: { ...(token && { Authorization: `Bearer ${token}` }), ...headers },
    });
    const text = await response.text();
    const isJson = text !== '' && /json/.test(response.headers.get('content-type') ?? '');
    const document = isJson ? JSON.parse(text) : undefined;
    return { status: response.status, headers: response.headers, text, body: document };
  };
  const upload = (file: Buffer, query = '', headers: Record<string, string> = {}) =>
    send('POST', `/stoken/upload${query}`, {
      body: file,
      headers: { 'Content-Type': 'application/pkcs7-mime', ...headers },
    });
  const download = async (query = '') => (await send('GET', `/certificate/download${query}`)).text;
  return { send, upload, download };
}

/** Status, and the code of the first error. */
export function verdict({ status, body }: Reply): [number, string | undefined] {
  return [status, body?.errors?.[0].code];
}
