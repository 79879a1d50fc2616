import type { ServiceAnswer } from './exchange.js';

const MAX_LENGTH = 500;

const MAX_PARSED = 4_096;

/** Members of a JSON answer that hold the error text. */
const MEMBERS = ['code', 'error', 'errorCode', 'message', 'error_description', 'errors'];

/** On one line, without invisible characters, at most 500 characters. */
export function tidy(text: string): string {
  const line = visibleText(text);
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH - 1)}…` : line;
}

/** Whether the body is HTML, which comes from a proxy or another server, not from Apple's service. */
export function isHtmlPage({ body }: ServiceAnswer): boolean {
  return body.trimStart().startsWith('<');
}

/**
 * The error text of an answer: a bare or quoted text, the MEMBERS of a JSON document, or the
 * OAuth challenge; empty if there is none.
 */
export function answerText(answer: ServiceAnswer): string {
  const text = isHtmlPage(answer) ? '' : tidy(bodyText(answer.body));
  return text === '' ? tidy(oauthChallenge(answer)) : text;
}

/** The WWW-Authenticate header if its scheme is OAuth 1.0a, else ''. */
export function oauthChallenge({ headers }: ServiceAnswer): string {
  const challenge = headers['www-authenticate'] ?? '';
  return /^OAuth\b/i.test(challenge) ? challenge : '';
}

/** Bidirectional marks, joiners, tags: invisible, and some make a text read as another. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]+/gu;

const NOT_TEXT = /[\p{Cc}\p{Co}\p{Cs}\p{Zl}\p{Zp}]+/gu;

/** The text on one line without invisible characters, some of which PostgreSQL rejects. */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, '').replace(NOT_TEXT, ' ').trim();
}

function bodyText(body: string): string {
  const text = body.slice(0, MAX_PARSED).trim();
  if (!/^["{[]/.test(text)) return text;
  try {
    return fromJson(JSON.parse(text), 3).join(': ');
  } catch {
    return text.replace(/^"|"$/g, '');
  }
}

function fromJson(value: unknown, depth: number): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || depth === 0) return [];
  const parts: unknown[] = Array.isArray(value)
    ? value
    : MEMBERS.map((name) => (value as Record<string, unknown>)[name]);
  return parts.slice(0, MEMBERS.length).flatMap((part) => fromJson(part, depth - 1));
}
