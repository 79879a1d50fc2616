import { AppError } from '../../errors.js';
import { type NameAttribute, nameType } from './names.js';

const MAX_LENGTH = 2_000;

/** At the end: it would escape what comes next. */
const LONE_BACKSLASH = /(?:^|[^\\])(?:\\\\)*\\$/;

/**
 * Reads a name in the form of RFC 4514 (most specific first) or of OpenSSL (`/C=…/CN=…`, least
 * specific first). Returns its attributes least specific first, as `encodeName` expects them.
 * @throws AppError `invalid_asn1` naming the reason
 */
export function parseDistinguishedName(text: string): NameAttribute[] {
  if (text.trim() === '' || text.length > MAX_LENGTH) throw invalidName('it is empty or too long');
  // Not at the end, where a space may be escaped.
  const name = text.trimStart();
  if (isSlashForm(name)) return split(name.replace(/^\//, ''), '/').map(parseAttribute);
  return split(name, ',;').map(parseAttribute).reverse();
}

function invalidName(why: string): AppError {
  return new AppError('invalid_asn1', 400, `not a distinguished name: ${why}`);
}

/** `/C=US/O=Example` as OpenSSL reads it, also without the leading slash. */
function isSlashForm(text: string): boolean {
  return text.startsWith('/') || (split(text, ',').length === 1 && /\/[A-Za-z.0-9]+=/.test(text));
}

/** Cuts at each of the separators that no backslash or quotes protect. */
function split(text: string, separators: string): string[] {
  const parts = [''];
  let isQuoted = false;
  for (const [token] of text.matchAll(/\\[\s\S]?|[\s\S]/gu)) {
    if (token === '"') isQuoted = !isQuoted;
    if (!isQuoted && separators.includes(token)) parts.push('');
    else parts[parts.length - 1] += token;
  }
  return parts;
}

function parseAttribute(text: string): NameAttribute {
  const at = text.indexOf('=');
  if (at < 0) throw invalidName(`"=" is missing in "${text}"`);
  const type = nameType(text.slice(0, at).trim());
  if (type === undefined) throw invalidName(`"${text.slice(0, at).trim()}" is not known`);
  const given = trimValue(text.slice(at + 1));
  if (given.startsWith('#')) throw invalidName('encoded values are not supported');
  if (split(given, '+').length > 1) throw invalidName('names joined by "+" are not supported');
  const value = unescapeValue(given);
  if (value === '') throw invalidName(`${type} is empty`);
  return { type, value };
}

/** Spaces around the value do not count, but for one that is escaped. */
function trimValue(text: string): string {
  if (LONE_BACKSLASH.test(text)) throw invalidName(`"${text.trim()}" ends in a lone backslash`);
  const trimmed = text.trim();
  return LONE_BACKSLASH.test(trimmed) ? `${trimmed} ` : trimmed;
}

/** Octets written as `\c3\bc` are UTF-8 (RFC 4514 2.4). */
function unescapeValue(text: string): string {
  const unquoted = /^".*"$/s.test(text) ? text.slice(1, -1) : text;
  if (LONE_BACKSLASH.test(unquoted)) throw invalidName(`${text} ends in a lone backslash`);
  return unquoted.replace(/(?:\\[0-9a-fA-F]{2})+|\\([\s\S])/gu, (whole, character?: string) =>
    character === undefined
      ? Buffer.from(whole.replaceAll('\\', ''), 'hex').toString('utf8')
      : character,
  );
}
