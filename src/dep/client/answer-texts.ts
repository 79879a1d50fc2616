import type { ServiceAnswer } from './exchange.js';

const MAX_LENGTH = 500;
const MAX_PARSED = 4_096;
/** Where a JSON answer has its words. */
const MEMBERS = ['code', 'error', 'errorCode', 'message', 'error_description', 'errors'];

/** On one line, without what nobody can see, at most 500 characters. */
export function tidy(text: string): string {
  const line = visibleText(text);
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH - 1)}…` : line;
}

/** A page for people: it comes from a proxy or another server, not from Apple's service. */
export function isHtmlPage({ body }: ServiceAnswer): boolean {
  return body.trimStart().startsWith('<');
}

function fromJson(value: unknown, depth: number): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || depth === 0) return [];
  const parts: unknown[] = Array.isArray(value)
    ? value
    : MEMBERS.map((name) => (value as Record<string, unknown>)[name]);
  return parts.slice(0, MEMBERS.length).flatMap((part) => fromJson(part, depth - 1));
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

/**
 * What the service says is wrong: the bare or quoted text, or the members of a JSON document; else its
 * challenge. Empty where it says nothing.
 */
export function answerText(answer: ServiceAnswer): string {
  const words = isHtmlPage(answer) ? '' : tidy(bodyText(answer.body));
  return words === '' ? tidy(oauthChallenge(answer)) : words;
}

/** The challenge where it is one of OAuth 1.0a. */
export function oauthChallenge({ headers }: ServiceAnswer): string {
  const challenge = headers['www-authenticate'] ?? '';
  return /^OAuth\b/i.test(challenge) ? challenge : '';
}

/** Bidirectional marks, joiners, tags: none can be seen, and some make a text read as another. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]+/gu;
const NOT_TEXT = /[\p{Cc}\p{Co}\p{Cs}\p{Zl}\p{Zp}]+/gu;

/** On one line, and only what people can see; the database does not take some of the rest. */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, '').replace(NOT_TEXT, ' ').trim();
}
