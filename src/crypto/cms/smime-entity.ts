import { AppError } from '../../errors.js';
import { decodeBase64 } from '../asn1/base64.js';

const MAX_BYTES = 1024 * 1024;
const MAX_HEADERS = 100;
const MAX_HEADER_LENGTH = 65_536;
const MAX_BOUNDARY_LENGTH = 70;
const MAX_PARTS = 32;
/** Levels of entities within entities. */
export const MAX_NESTING = 4;

const field = /^([A-Za-z][A-Za-z0-9-]{0,76})[ \t]*:(.*)$/s;
const mediaType = /^([\w.+-]+)\s*\/\s*([\w.+-]+)\s*(?:;|$)/;
const parameter = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/gs;

/** A MIME entity (RFC 2045 2.4). Text stands for bytes, one character for each (latin1). */
export interface MimeEntity {
  /** Lower case; `text/plain` when the header has none (RFC 2045 5.2). */
  mediaType: string;
  parameters: ReadonlyMap<string, string>;
  /** Content-Transfer-Encoding in lower case. */
  encoding: string;
  body: string;
}

/** AppError `invalid_message` 400, the one error of every reader of S/MIME. */
export function invalidMime(why: string, cause?: unknown): AppError {
  return new AppError('invalid_message', 400, `not an S/MIME message: ${why}`, { cause });
}

/** The text of bytes, one character for each. Throws `invalid_message` above 1 MiB. */
export function textOf(bytes: Buffer): string {
  if (bytes.length > MAX_BYTES) throw invalidMime('too large');
  return bytes.toString('latin1');
}

interface Line {
  start: number;
  end: number;
  /** Where the next line begins. */
  next: number;
}

/**
 * Reads one entity: any line ends, folded fields, comments. Undefined when the text does not begin
 * with a header that speaks of its content.
 * @throws AppError `invalid_message`
 */
export function parseMimeEntity(text: string): MimeEntity | undefined {
  const begin = /^(?:\u00ef\u00bb\u00bf)?[\r\n]*/.exec(text)?.[0].length ?? 0;
  const whole = text.slice(begin);
  const split = splitHeader(whole);
  if (split === undefined) return undefined;
  const fields = readFields(split.fields);
  if (![...fields.keys()].some((name) => /^(content|mime)-/.test(name))) return undefined;
  return {
    ...readMediaType(fields.get('content-type') ?? 'text/plain'),
    encoding: fields.get('content-transfer-encoding')?.toLowerCase() ?? '7bit',
    body: whole.slice(split.bodyAt),
  };
}

/** Base64 in lines of any length; undefined when it is something else. */
export function decodeLines(text: string): Buffer | undefined {
  return decodeBase64(text.replace(/\s+/g, ''));
}

/** The bytes of an entity's body. Throws `invalid_message`. */
export function decodeBody({ encoding, body }: MimeEntity): Buffer {
  if (encoding === 'base64') {
    const decoded = decodeLines(body);
    if (decoded === undefined) throw invalidMime('bad base64');
    return decoded;
  }
  if (encoding === 'quoted-printable') return decodeQuotedPrintable(body);
  if (!['7bit', '8bit', 'binary'].includes(encoding)) throw invalidMime('unknown encoding');
  return Buffer.from(body, 'latin1');
}

/** The parts of a multipart body as they are, without the line end before each boundary. */
export function splitParts({ parameters, body }: MimeEntity): string[] {
  const boundary = parameters.get('boundary') ?? '';
  if (boundary === '' || boundary.length > MAX_BOUNDARY_LENGTH) throw invalidMime('bad boundary');
  const parts: string[] = [];
  let [partAt, previousEnd] = [-1, 0];
  for (const { start, end, next } of linesOf(body)) {
    const rest = body.startsWith('--', start) ? body.slice(start + 2, end).trimEnd() : '';
    if (rest === boundary || rest === `${boundary}--`) {
      if (partAt >= 0) parts.push(body.slice(partAt, Math.max(partAt, previousEnd)));
      if (parts.length > MAX_PARTS) throw invalidMime('too many parts');
      if (rest !== boundary) return parts;
      partAt = next;
    }
    previousEnd = end;
  }
  throw invalidMime('the last boundary is missing');
}

/** Where the empty line after the header ends, and the fields unfolded; undefined for no header. */
function splitHeader(text: string): { fields: string[]; bodyAt: number } | undefined {
  const fields: string[] = [];
  for (const { start, end, next } of linesOf(text)) {
    if (next > MAX_HEADER_LENGTH) throw invalidMime('header too long');
    if (start === end) return { fields, bodyAt: next };
    const line = text.slice(start, end);
    const last = fields.length - 1;
    if (/^[ \t]/.test(line) && last >= 0) fields[last] += line;
    else if (field.test(line)) fields.push(line);
    else return undefined;
    if (fields.length > MAX_HEADERS) throw invalidMime('too many headers');
  }
  return { fields, bodyAt: text.length };
}

/** Lines that end with LF, CRLF or CR, in any mixture. */
function* linesOf(text: string): Generator<Line> {
  const lineEnd = /\r\n|\r|\n/g;
  let start = 0;
  for (const { index, 0: mark } of text.matchAll(lineEnd)) {
    yield { start, end: index, next: index + mark.length };
    start = index + mark.length;
  }
  if (start < text.length) yield { start, end: text.length, next: text.length };
}

function readFields(fields: readonly string[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of fields) {
    const [, name = '', value = ''] = field.exec(line) ?? [];
    const key = name.toLowerCase();
    if (key.startsWith('content-') && values.has(key)) throw invalidMime(`two ${key} headers`);
    values.set(key, withoutComments(value));
  }
  return values;
}

/** Without comments (RFC 5322 3.2.2), which nest and may hold quoted pairs. */
function withoutComments(value: string): string {
  let [kept, depth, quoted] = ['', 0, false];
  for (let at = 0; at < value.length; at += 1) {
    const pair = value[at] === '\\' ? value.slice(at, at + 2) : (value[at] ?? '');
    if (pair === '"' && depth === 0) quoted = !quoted;
    if (pair === '(' && !quoted) depth += 1;
    if (depth === 0) kept += pair;
    if (pair === ')' && depth > 0) depth -= 1;
    at += pair.length - 1;
  }
  return kept.trim();
}

function readMediaType(value: string): Pick<MimeEntity, 'mediaType' | 'parameters'> {
  const [, type, subtype] = mediaType.exec(value) ?? [];
  if (type === undefined) throw invalidMime('bad content type');
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, plain = ''] of value.matchAll(parameter)) {
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/gs, '$1') ?? plain);
  }
  return { mediaType: `${type}/${subtype}`.toLowerCase(), parameters };
}

/** RFC 2045 6.7; what is no escape stands for itself. */
function decodeQuotedPrintable(text: string): Buffer {
  const joined = text.replace(/=[ \t]*(?:\r\n|\r|\n)/g, '');
  const octet = (_escape: string, hex: string): string =>
    String.fromCharCode(Number.parseInt(hex, 16));
  return Buffer.from(joined.replace(/=([0-9A-Fa-f]{2})/g, octet), 'latin1');
}
