import { isUtf8 } from 'node:buffer';
import { AppError } from '../errors.js';
import { MEDIA_TYPE } from './document.js';

interface MediaType {
  name: string;
  parameters: Map<string, string>;
}

const PART = /;\s*([^=;\s]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|[^;,\s]*))?/g;

function parseMediaType(text: string): MediaType {
  const name = text.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const parts = [...text.matchAll(PART)].map(([, key = '', value = '']): [string, string] => [
    key.toLowerCase(),
    value.replace(/^"|"$/g, '').toLowerCase(),
  ]);
  return { name, parameters: new Map(parts) };
}

// JSON:API 1.1, "Content Negotiation": `profile` is always allowed, `ext` only when supported
// (there are none), nothing else at all.
function hasForeignParameter(parameters: Map<string, string>): boolean {
  return [...parameters.keys()].some((key) => key !== 'profile');
}

/** AppError 415 unless the body is `application/vnd.api+json` or `application/json`. */
export function checkContentType(header: string | undefined): void {
  const { name, parameters } = parseMediaType(header ?? '');
  const charset = parameters.get('charset') ?? 'utf-8';
  if (name === 'application/json' && charset === 'utf-8') return;
  if (name === MEDIA_TYPE && !hasForeignParameter(parameters)) return;
  const message = `send ${MEDIA_TYPE} without parameters, or application/json`;
  const source = { header: 'Content-Type' };
  throw new AppError('unsupported_media_type', 415, message, { source });
}

/** For body-parser's `verify`: JSON is UTF-8 (RFC 8259 §8.1), and what is not would be altered. */
export function checkUtf8(_req: unknown, _res: unknown, body: Buffer): void {
  if (!isUtf8(body)) throw new AppError('malformed_json', 400, 'the body is not UTF-8');
}

/**
 * AppError 406 when every mention of the JSON:API media type carries a parameter that is not
 * supported. Other types are let through: browsers and curl don't ask for ours.
 */
export function checkAccept(header: string | undefined): void {
  const mentioned = splitList(header ?? '')
    .map(parseMediaType)
    .filter(({ name }) => name === MEDIA_TYPE);
  if (mentioned.length === 0) return;
  const acceptable = mentioned.some(({ parameters }) => {
    // The weight belongs to the Accept header, not to the media type (RFC 9110 §12.5.1).
    parameters.delete('q');
    return !hasForeignParameter(parameters);
  });
  if (acceptable) return;
  const message = `${MEDIA_TYPE} is served without parameters`;
  throw new AppError('not_acceptable', 406, message, { source: { header: 'Accept' } });
}

// Commas part the list, but not inside a quoted profile.
function splitList(header: string): string[] {
  return header.match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g) ?? [];
}
