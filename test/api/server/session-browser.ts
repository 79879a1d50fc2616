import { createToken } from '../../../src/auth/api-tokens.js';
import type { RequestContext, Role } from '../../../src/jsonapi/context.js';
import { ADMIN_TOKEN, type TestApp } from '../../helpers/app.js';

export const DOCUMENT = 'application/vnd.api+json';
export const CONTEXT: RequestContext = {
  requestId: 'r',
  actor: { name: 'cli', role: 'admin' },
  sourceAddress: null,
};
/** What the console sends with a change. */
export const CONSOLE = { 'X-Muster-Console': '1' };

export type Headers = Record<string, string>;

export interface Reply {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a document of any kind
  body: any;
  headers: globalThis.Headers;
}

/** The value of the Cookie header that a browser sends from now on. */
export function cookieOf({ headers }: Reply): string {
  return (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

export function faultOf({ status, body }: Reply): unknown[] {
  return [status, body.errors[0].code];
}

export async function newToken({ db }: TestApp, role: Role, expiresAt: Date | null = null) {
  return await createToken(db, { name: `a ${role}`, role, expiresAt }, CONTEXT);
}

/** A browser, as far as sessions go. */
export function browserOf(app: TestApp) {
  const send = async (
    method: string,
    path: string,
    headers: Headers = {},
    body?: unknown,
  ): Promise<Reply> => {
    const type: Headers = body === undefined ? {} : { 'Content-Type': DOCUMENT };
    const init = { method, headers: { ...headers, ...type } };
    const response = await fetch(
      `${app.url}${path}`,
      body === undefined ? init : { ...init, body: JSON.stringify(body) },
    );
    const text = await response.text();
    const isDocument = /json/.test(response.headers.get('content-type') ?? '');
    const parsed = isDocument ? JSON.parse(text) : text === '' ? undefined : text;
    return { status: response.status, body: parsed, headers: response.headers };
  };
  const call = (method: string, path: string, headers: Headers = {}, body?: unknown) =>
    send(method, `/api/v1${path}`, headers, body);
  const signInWith = (attributes: object, headers: Headers = {}) =>
    call('POST', '/sessions', headers, { data: { type: 'sessions', attributes } });
  const signedIn = async (token = ADMIN_TOKEN): Promise<{ id: number; cookie: Headers }> => {
    const reply = await signInWith({ token });
    expect(reply.status).toBe(201);
    return { id: reply.body.data.id, cookie: { Cookie: cookieOf(reply) } };
  };
  return { send, call, signInWith, signedIn };
}
