import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import express, { type RequestHandler } from 'express';
import { AppError } from '../../errors.js';
import { type DocumentForm, MEDIA_TYPE } from '../documents/document.js';
import { STRING_IDS } from '../documents/string-ids.js';
import { noteBody } from './idempotency.js';
import { faultOfProtoMember, mayHaveProtoMember } from './proto-member.js';

interface MediaType {
  name: string;
  parameters: Map<string, string>;
}

const PART = /;\s*([^=;\s]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|[^;,\s]*))?/g;

function parseMediaType(text: string): MediaType {
  const name = text.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const parts = [...text.matchAll(PART)].map(([, key = '', value = '']): [string, string] => [
    key.toLowerCase(),
    value.replace(/^"|"$/g, ''),
  ]);
  return { name, parameters: new Map(parts) };
}

// JSON:API 1.1, "Content Negotiation": only `profile` and supported extensions (none) are allowed.
function hasUnsupportedParameter(parameters: Map<string, string>): boolean {
  return [...parameters.keys()].some((key) => key !== 'profile');
}

/** AppError 415 unless the body is `application/vnd.api+json` or `application/json`. */
export function checkContentType(header: string | undefined): void {
  const { name, parameters } = parseMediaType(header ?? '');
  const charset = parameters.get('charset') ?? 'utf-8';
  if (name === 'application/json' && charset.toLowerCase() === 'utf-8') return;
  if (name === MEDIA_TYPE && !hasUnsupportedParameter(parameters)) return;
  const message = `send ${MEDIA_TYPE} without parameters, or application/json`;
  const source = { header: 'Content-Type' };
  throw new AppError('unsupported_media_type', 415, message, { source });
}

/** More than any document needs. */
const DOCUMENT_LIMIT = '1mb';
const MAX_DEPTH = 64;

const searchedBodies = new WeakSet<IncomingMessage>();

const readJson = express.json({
  limit: DOCUMENT_LIMIT,
  strict: false,
  type: () => true,
  verify: (req, res, body) => {
    checkBody(req, res, body);
    if (mayHaveProtoMember(body)) searchedBodies.add(req);
  },
});

/** Reads a JSON body into `req.body`, whatever its Content-Type. AppError 400, or 422 for a member `__proto__`. */
export const parseJson: RequestHandler = (req, res, next) => {
  readJson(req, res, (error) => {
    next(error ?? (searchedBodies.has(req) ? faultOfProtoMember(req.body) : undefined));
  });
};

/**
 * Checks a JSON body before it is parsed. AppError 400. JSON is UTF-8 (RFC 8259 §8.1); other bytes
 * would be replaced silently.
 */
export function checkBody(req: IncomingMessage, _res: unknown, body: Buffer): void {
  if (!isUtf8(body)) throw new AppError('malformed_json', 400, 'the body is not UTF-8');
  if (isDeeperThan(MAX_DEPTH, body)) {
    throw new AppError('malformed_json', 400, `the body nests deeper than ${MAX_DEPTH} levels`);
  }
  noteBody(req, body);
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** Counts brackets outside of strings. */
function isDeeperThan(limit: number, body: Buffer): boolean {
  let depth = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at] ?? 0;
    if (byte === QUOTE) at = endOfString(body, at + 1);
    else if (OPENING.has(byte)) depth += 1;
    else if (CLOSING.has(byte)) depth -= 1;
    if (depth > limit) return true;
  }
  return false;
}

/** Where the quote is that closes the string; the end of a body without one. */
function endOfString(body: Buffer, start: number): number {
  let end = body.indexOf(QUOTE, start);
  while (end !== -1 && isEscaped(body, end)) end = body.indexOf(QUOTE, end + 1);
  return end === -1 ? body.length : end;
}

/** After an odd number of backslashes. */
function isEscaped(body: Buffer, at: number): boolean {
  let backslashes = 0;
  while (body[at - 1 - backslashes] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}

/**
 * The form that an Accept header requests. AppError 406 if every mention of the JSON:API media type has
 * an unsupported parameter. Other types are accepted: browsers and curl don't request ours. Unknown
 * profiles are ignored (JSON:API 1.1, "Profiles").
 */
export function negotiateForm(header: string | undefined): DocumentForm {
  if (header === undefined || !header.includes(';')) return { stringIds: false };
  const mentioned = splitList(header)
    .map(parseMediaType)
    .filter(({ name }) => name === MEDIA_TYPE);
  const offers = mentioned.flatMap(offerOf);
  if (mentioned.length > 0 && offers.length === 0) {
    const message = `${MEDIA_TYPE} is served without parameters other than profile`;
    throw new AppError('not_acceptable', 406, message, { source: { header: 'Accept' } });
  }
  const best = Math.max(...offers.map(({ weight }) => weight));
  // If weights are equal, the more specific media range applies (RFC 9110 §12.5.1).
  const stringIds = offers.some((offer) => offer.stringIds && offer.weight === best && best > 0);
  return { stringIds };
}

interface Offer extends DocumentForm {
  weight: number;
}

/** The weight belongs to the Accept header, not to the media type (RFC 9110 §12.5.1). */
function offerOf({ parameters }: MediaType): Offer[] {
  const { q = '1', ...rest } = Object.fromEntries(parameters);
  if (hasUnsupportedParameter(new Map(Object.entries(rest)))) return [];
  const profiles = (rest.profile ?? '').split(/\s+/);
  const weight = Number(q);
  return [{ stringIds: profiles.includes(STRING_IDS), weight: Number.isNaN(weight) ? 1 : weight }];
}

// Commas separate the list, but not inside a quoted profile.
function splitList(header: string): string[] {
  return header.match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g) ?? [];
}
