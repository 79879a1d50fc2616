import type { HttpClient, HttpRequest } from '../wire/http-client.js';
import { type HttpReply, refusedReply } from '../wire/http-reply.js';
import { LabError } from '../wire/lab-error.js';
import { type HtmlForm, type HtmlInput, readForm } from './html-form.js';

export interface Credentials {
  account: string;
  password: string;
}

/** Scheme of the final redirect, from which the operating system reads the token. */
const END = 'apple-remotemanagement-user-login:';
const MAX_STEPS = 20;
const KEEPS_METHOD: ReadonlySet<number> = new Set([307, 308]);

/** The cookies of one visit, for each origin. */
class Cookies {
  private readonly jars = new Map<string, Map<string, string>>();

  header(url: string): Record<string, string> {
    const jar = this.jars.get(new URL(url).origin);
    if (jar === undefined || jar.size === 0) return {};
    return { Cookie: Array.from(jar, ([name, value]) => `${name}=${value}`).join('; ') };
  }

  store(url: string, { headers }: HttpReply): void {
    const { origin } = new URL(url);
    const jar = this.jars.get(origin) ?? new Map<string, string>();
    this.jars.set(origin, jar);
    for (const line of headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=;]+)=([^;]*)/.exec(line) ?? [];
      if (value === '' || /;\s*max-age=0\b/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
  }
}

/** A person who signs in in a web view. */
class Visit {
  private readonly cookies = new Cookies();
  private hasSentPassword = false;

  constructor(
    private readonly http: HttpClient,
    private readonly credentials: Credentials,
  ) {}

  /** Follows the pages up to the token. */
  async run(first: string): Promise<string> {
    let request: HttpRequest = { method: 'GET', url: first };
    for (let step = 0; step < MAX_STEPS; step += 1) {
      const reply = await this.send(request);
      const next = this.next(request, reply);
      if (typeof next === 'string') return next;
      request = next;
    }
    throw new LabError('the sign-in page leads nowhere');
  }

  private async send(request: HttpRequest): Promise<HttpReply> {
    const headers = { ...request.headers, ...this.cookies.header(request.url) };
    const reply = await this.http.send({ ...request, headers });
    this.cookies.store(request.url, reply);
    return reply;
  }

  private next(request: HttpRequest, reply: HttpReply): HttpRequest | string {
    const { location } = reply.headers;
    if (reply.status >= 300 && reply.status < 400 && location !== undefined) {
      return follow(request, reply.status, new URL(location, request.url));
    }
    const form = reply.status === 200 ? readForm(reply.body.toString()) : undefined;
    const asksPassword = form?.inputs.some(({ type }) => type === 'password') ?? false;
    if (form === undefined || (asksPassword && this.hasSentPassword))
      throw refusedReply(request.url, reply);
    this.hasSentPassword ||= asksPassword;
    return submit(request.url, form, (input) => this.fill(input));
  }

  private fill({ type, value }: HtmlInput): string {
    if (type === 'password') return this.credentials.password;
    return type === 'text' || type === 'email' ? this.credentials.account : value;
  }
}

function follow(request: HttpRequest, status: number, target: URL): HttpRequest | string {
  if (target.protocol !== END) {
    const kept = KEEPS_METHOD.has(status) ? request : { method: 'GET' as const };
    return { ...kept, url: target.href };
  }
  const token = target.searchParams.get('access-token');
  if (token === null || token === '') throw new LabError('the sign-in ended without a token');
  return token;
}

function submit(page: string, form: HtmlForm, fill: (input: HtmlInput) => string): HttpRequest {
  const url = new URL(form.action === '' ? page : form.action, page);
  const fields = form.inputs.map((input): [string, string] => [input.name, fill(input)]);
  const encoded = new URLSearchParams(fields).toString();
  if (form.method === 'GET') {
    url.search = encoded;
    return { method: 'GET', url: url.href };
  }
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: url.origin };
  return { method: 'POST', url: url.href, headers, body: Buffer.from(encoded) };
}

/** Signs in on the page a device would show. LabError with the text of a page that refuses. */
export async function signInOnTheWeb(
  http: HttpClient,
  page: string,
  credentials: Credentials,
): Promise<string> {
  const url = new URL(page);
  url.searchParams.set('user-identifier', credentials.account);
  return await new Visit(http, credentials).run(url.href);
}
