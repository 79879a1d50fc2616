import { answerText, isHtmlPage, oauthChallenge } from './answer-texts.js';
import { DepError, type DepErrorKind } from './dep-error.js';
import type { ServiceAnswer } from './exchange.js';
import { retryAfter } from './retry-policy.js';

export const SESSION = '/session';
const PROFILE_DEVICES = '/profile/devices';
/** Calls that Apple may deny to a server with an otherwise valid token. */
const SEPARATELY_GRANTED = ['/devices/disown', '/device/activationlock'];

const DEFAULT_RETRY_MS = 60_000;
const CLOCK_TOLERANCE_MS = 1_000;

const CODES: [RegExp, DepErrorKind][] = [
  [/\b(EXPIRED_CURSOR|INVALID_CURSOR|CURSOR_REQUIRED)\b/, 'cursor_lost'],
  [/\bEXHAUSTED_CURSOR\b/, 'cursor_exhausted'],
  [/\bPROFILE_NOT_FOUND\b/, 'profile_not_found'],
];
const TERMS = /\bT_C_NOT_SIGNED\b/;
const NO_SESSION = /\b(FORBIDDEN|UNAUTHORIZED|ACCESS_DENIED)\b/i;
/** Apple rejects this server's software, whatever the request. */
export const REFUSES_SERVER = /\b(USER_AGENT_|\w*PROTOCOL)/;

/** The request that an answer belongs to. */
export interface RequestContext {
  path: string;
  /** Host of the service. */
  host: string;
  /** Time of the answer, milliseconds since 1970. */
  now: number;
}

/** Whether a new session may help: Apple answers 401, or 403 with one of the codes NO_SESSION. */
export function isSessionRefused(answer: ServiceAnswer): boolean {
  if (answer.status === 401) return true;
  if (answer.status !== 403 || isHtmlPage(answer)) return false;
  const text = answerText(answer);
  return !TERMS.test(text) && (text === '' || NO_SESSION.test(text));
}

/** The meaning of an answer other than 2xx. */
export function readFailure(answer: ServiceAnswer, asked: RequestContext): DepError {
  const { status } = answer;
  if (status === 429) return throttled(answer, asked);
  if (status >= 500 || status < 400 || isNotFromApple(answer, asked))
    return unreachable(answer, asked);
  const text = answerText(answer);
  if (TERMS.test(text)) {
    return new DepError('terms_not_signed', 'Apple has new terms to accept', { status, text });
  }
  return asked.path === SESSION ? sessionFailure(answer, asked) : callFailure(answer, asked);
}

function throttled(answer: ServiceAnswer, { now }: RequestContext): DepError {
  const { status } = answer;
  const retryAt = new Date(now + (retryAfter(answer, now) ?? DEFAULT_RETRY_MS));
  const options = { status, text: answerText(answer), retryAt };
  return new DepError('throttled', "Apple's service is called too often", options);
}

function unreachable(answer: ServiceAnswer, { host, now }: RequestContext): DepError {
  const { status } = answer;
  const page = isHtmlPage(answer) ? ' with a web page, as a proxy would' : '';
  const text = answerText(answer);
  const wait = status === 503 ? retryAfter(answer, now) : undefined;
  const retryAt = wait === undefined ? undefined : new Date(now + wait);
  const message = `${host} answers ${status}${page}`;
  return new DepError('unreachable', message, { status, text, retryAt });
}

/** Whether a proxy or another server sent the answer, not Apple's DEP service. */
function isNotFromApple(answer: ServiceAnswer, { path }: RequestContext): boolean {
  const { status } = answer;
  if (status === 407 || status === 408) return true;
  if (path === SESSION && ![400, 401, 403].includes(status)) return true;
  return (
    isHtmlPage(answer) && (status !== 401 || (path === SESSION && oauthChallenge(answer) === ''))
  );
}

/** The request contains only the token, so every refusal is about the token. */
function sessionFailure(answer: ServiceAnswer, { now }: RequestContext): DepError {
  const { status } = answer;
  const text = answerText(answer);
  const options = { status, text };
  if (REFUSES_SERVER.test(text)) {
    return new DepError('refused', 'Apple refuses this version of the server', options);
  }
  if (/token_expired/i.test(text)) {
    return new DepError('token_expired', 'the token has expired', options);
  }
  const why = /timestamp_refused/i.test(text)
    ? `the clock of this server is ${clockDifference(answer, now)}`
    : 'Apple rejects the token';
  return new DepError('token_rejected', why, options);
}

function clockDifference({ headers }: ServiceAnswer, now: number): string {
  const ahead = now - Date.parse(headers.date ?? '');
  if (Number.isNaN(ahead) || Math.abs(ahead) <= CLOCK_TOLERANCE_MS) return "not Apple's";
  const seconds = Math.round(Math.abs(ahead) / 1000);
  return `${seconds} s ${ahead > 0 ? 'ahead of' : 'behind'} Apple's`;
}

function callFailure(answer: ServiceAnswer, { path }: RequestContext): DepError {
  const { status } = answer;
  const text = answerText(answer);
  const kind = CODES.find(([code]) => code.test(text))?.[1] ?? kindByStatus(status, path);
  return new DepError(kind, messageOf(kind, status), { status, text });
}

function kindByStatus(status: number, path: string): DepErrorKind {
  // Apple's documentation of "Assign a Profile" names no code for it.
  if (status === 404 && path === PROFILE_DEVICES) return 'profile_not_found';
  if (status === 401) return 'token_rejected';
  return status === 403 && !SEPARATELY_GRANTED.includes(path) ? 'token_rejected' : 'refused';
}

function messageOf(kind: DepErrorKind, status: number): string {
  switch (kind) {
    case 'cursor_lost':
      return 'Apple no longer knows the cursor';
    case 'cursor_exhausted':
      return 'Apple has no more pages under the cursor';
    case 'profile_not_found':
      return 'Apple does not know the profile';
    case 'token_rejected':
      return `Apple refuses the token for this (${status})`;
    default:
      return `Apple refuses the request (${status})`;
  }
}
