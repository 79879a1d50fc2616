import type { IncomingHttpHeaders } from 'node:http';
import { DEP_CALLS } from './dep-calls.js';
import { DepRefusal, malformed } from './dep-refusal.js';
import type { PageCursors } from './device-pages.js';
import { DEFAULT_BODIES, type FaultRule, type FaultRules } from './fault-rules.js';
import type { OAuthCheck } from './oauth-check.js';
import type { Organization } from './organization.js';
import type { Sessions } from './sessions.js';

export interface DepRequest {
  method: string;
  /** With the host that the client used. */
  url: URL;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface DepAnswer {
  status: number;
  /** A string is sent as text, an object as JSON. */
  body: string | object;
  headers?: Record<string, string> | undefined;
  /** The connection is closed without an answer. */
  drop?: boolean | undefined;
  delayMs?: number | undefined;
}

export interface DepServiceOptions {
  organization: Organization;
  oauth: OAuthCheck;
  sessions: Sessions;
  cursors: PageCursors;
  faults: FaultRules;
}

const SESSION_HEADER = 'x-adm-auth-session';

const PROTOCOL_VERSION = /^[1-9]\d?$/;

/** Answers requests like Apple's DEP service. */
export class DepService {
  constructor(private readonly options: DepServiceOptions) {}

  answer(request: DepRequest): DepAnswer {
    const rule = this.options.faults.next(request.method, request.url.pathname);
    if (rule === undefined) return this.#answerOrRefuse(request, rule);
    const replacesAnswer = rule.status !== undefined || rule.drop === true;
    if (replacesAnswer && rule.obeyed !== true) return applyRule(rule);
    const regular = this.#answerOrRefuse(request, rule);
    return regular.status === 200 ? applyRule(rule, regular) : regular;
  }

  #answerOrRefuse(request: DepRequest, rule: FaultRule | undefined): DepAnswer {
    try {
      return this.#serve(request, rule);
    } catch (error) {
      if (!(error instanceof DepRefusal)) throw error;
      return { status: error.status, body: error.code };
    }
  }

  #serve(request: DepRequest, rule: FaultRule | undefined): DepAnswer {
    const { method, url } = request;
    const isSession = url.pathname === '/session';
    const methods = isSession ? { GET: undefined } : DEP_CALLS[url.pathname];
    if (methods === undefined) throw new DepRefusal(404, 'NOT_FOUND');
    if (!Object.hasOwn(methods, method)) throw new DepRefusal(405, 'METHOD_NOT_ALLOWED');
    checkHeaders(request);
    return isSession ? this.#openSession(request) : this.#call(request, rule);
  }

  #openSession({ method, url, headers: { authorization } }: DepRequest): DepAnswer {
    const owner = this.options.oauth.check({ method, url, authorization });
    this.#checkTerms();
    return { status: 200, body: { auth_session_token: this.options.sessions.open(owner) } };
  }

  #call(request: DepRequest, rule: FaultRule | undefined): DepAnswer {
    const { organization, sessions, cursors } = this.options;
    const { method, url, headers } = request;
    const session = String(headers[SESSION_HEADER] ?? '');
    const { server, next } = sessions.use(session, (name) => organization.server(name));
    this.#checkTerms();
    const call = { server, cursors, query: url.searchParams, body: parseBody(request.body) };
    const answer = DEP_CALLS[url.pathname]?.[method]?.({ ...call, resultFor: resultsOf(rule) });
    if (method !== 'GET') organization.changed();
    const renewal = next === undefined ? undefined : { 'X-ADM-Auth-Session': next };
    return { status: 200, body: answer ?? {}, headers: renewal };
  }

  #checkTerms(): void {
    if (!this.options.organization.areTermsSigned) throw new DepRefusal(403, 'T_C_NOT_SIGNED');
  }
}

/** The rule's answer; the regular one, possibly delayed, if the rule has none. */
function applyRule(rule: FaultRule, regular?: DepAnswer): DepAnswer {
  const { status, body, retry_after: retryAfter, drop = false, delay_ms: delayMs } = rule;
  if (regular !== undefined && status === undefined && !drop) return { ...regular, delayMs };
  const headers = retryAfter === undefined ? undefined : { 'Retry-After': String(retryAfter) };
  const code = body ?? DEFAULT_BODIES[status ?? 0] ?? 'REFUSED';
  return { status: status ?? 0, body: code, headers, drop, delayMs };
}

function checkHeaders({ headers, body }: DepRequest): void {
  const { 'user-agent': agent, 'content-type': type = '' } = headers;
  if (agent === undefined || agent.trim() === '') {
    throw new DepRefusal(400, 'USER_AGENT_MISSING');
  }
  if (!PROTOCOL_VERSION.test(String(headers['x-server-protocol-version'] ?? ''))) {
    throw new DepRefusal(400, 'PROTOCOL_VERSION_INVALID');
  }
  if (body.length > 0 && !/^application\/json\b/i.test(type)) throw malformed();
}

function parseBody(body: Buffer): unknown {
  if (body.length === 0) return {};
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw malformed();
  }
}

/** The result that the rule sets for a serial number, if any. */
function resultsOf(rule: FaultRule | undefined): (serial: string) => string | undefined {
  const { result, serial_numbers: serials } = rule ?? {};
  const chosen = serials && new Set(serials);
  return (serial) => (chosen === undefined || chosen.has(serial) ? result : undefined);
}
