import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:https';
import OAuth from 'oauth-1.0a';
import {
  type DepStandIn,
  type DepStandInOptions,
  startDepStandIn,
} from '../../../src/lab/dep/dep-stand-in.js';
import type { ServerToken } from '../../../src/lab/dep/server-tokens.js';
import { createLabAuthority, type LabAuthority } from '../../../src/lab/pki/lab-authority.js';

export interface Answer {
  status: number;
  headers: Record<string, unknown>;
  text: string;
}

export interface Call {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: unknown;
}

const HEADERS = { 'User-Agent': 'tests/1', 'X-Server-Protocol-Version': '9' };
const JSON_TYPE = { 'Content-Type': 'application/json;charset=UTF8' };

/** As a library other than the stand-in's own code signs it; `changes` are made afterwards. */
export function authorization(
  url: string,
  token: Pick<ServerToken, 'consumer_key' | 'consumer_secret' | 'access_token' | 'access_secret'>,
  changes: Record<string, string> = {},
  secondsAgo = 0,
): string {
  const oauth = new OAuth({
    consumer: { key: token.consumer_key, secret: token.consumer_secret },
    signature_method: 'HMAC-SHA1',
    realm: 'ADM',
    hash_function: (text, key) => createHmac('sha1', key).update(text).digest('base64'),
  });
  const now = oauth.getTimeStamp();
  oauth.getTimeStamp = () => now - secondsAgo;
  const access = { key: token.access_token, secret: token.access_secret };
  const signed = { ...oauth.authorize({ url, method: 'GET' }, access), ...changes };
  return oauth.toHeader(signed).Authorization;
}

/** The stand-in, and a client that sends any request. */
export class DepUnderTest {
  readonly #agent: Agent;
  #session = '';

  private constructor(
    readonly standIn: DepStandIn,
    readonly authority: LabAuthority,
  ) {
    this.#agent = new Agent({ keepAlive: true, ca: standIn.caPem });
  }

  static async start(options: Partial<DepStandInOptions> = {}): Promise<DepUnderTest> {
    const authority = options.authority ?? (await createLabAuthority());
    return new DepUnderTest(await startDepStandIn({ ...options, authority }), authority);
  }

  /** Without a session. */
  send({ method = 'GET', path, headers = {}, body }: Call): Promise<Answer> {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body ?? null));
    const withBody = body === undefined ? {} : { 'Content-Length': String(bytes.length) };
    const options = { method, headers: { ...headers, ...withBody }, agent: this.#agent };
    return new Promise((resolve, reject) => {
      const sent = request(new URL(path, this.standIn.url), options, (reply) => {
        const chunks: Buffer[] = [];
        reply.on('data', (chunk: Buffer) => chunks.push(chunk));
        reply.on('error', reject);
        reply.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text });
        });
      });
      sent.on('error', reject);
      sent.end(body === undefined ? undefined : bytes);
    });
  }

  /** Asks for a session with that header. */
  askSession(authorizationHeader: string, path = '/session'): Promise<Answer> {
    return this.send({ path, headers: { ...HEADERS, Authorization: authorizationHeader } });
  }

  /** Opens one, and uses it from now on. */
  async openSession(token: ServerToken): Promise<string> {
    const { text } = await this.askSession(authorization(`${this.standIn.url}/session`, token));
    this.#session = JSON.parse(text).auth_session_token;
    return this.#session;
  }

  /** With the session and all headers that Apple wants. */
  call(method: string, path: string, body?: unknown): Promise<Answer> {
    const headers = { ...HEADERS, ...JSON_TYPE, 'X-ADM-Auth-Session': this.#session };
    return this.send({ method, path, body, headers });
  }

  /** What a call that must succeed is answered. */
  async ask(method: string, path: string, body?: unknown) {
    const { status, text } = await this.call(method, path, body);
    if (status !== 200) throw new Error(`${status} ${text}`);
    return JSON.parse(text);
  }

  /** To the portal. */
  async portal(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; bytes: Buffer }> {
    const content = Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body);
    const response = await fetch(new URL(path, this.standIn.portalUrl), {
      method,
      body: content ?? null,
    });
    return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    await this.standIn.close();
  }
}
