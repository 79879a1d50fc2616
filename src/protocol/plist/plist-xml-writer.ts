import { hasIllegalCharacter, invalidPlist, type PlistInput, PlistReal } from './plist-value.js';

const HEAD = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
`;
const MAX_DEPTH = 64;
const TABS = '\t'.repeat(MAX_DEPTH + 1);
const SPECIAL = /[&<>\r]/g;
// A carriage return written as itself would be read back as a line feed.
const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' };

/**
 * Writes an XML property list with Apple's DOCTYPE. Throws AppError invalid_plist for text XML
 * cannot hold.
 */
export function writeXmlPlist(value: PlistInput): string {
  return `${HEAD}${element(value, 0)}</plist>\n`;
}

function element(value: PlistInput, depth: number): string {
  const indent = TABS.slice(0, depth);
  switch (typeof value) {
    case 'string':
      return `${indent}<string>${escapeText(value)}</string>\n`;
    case 'boolean':
      return `${indent}<${value}/>\n`;
    case 'bigint':
      return `${indent}<integer>${value}</integer>\n`;
    case 'number':
      return `${indent}${number(value)}\n`;
    default:
      return object(value, depth);
  }
}

function escapeText(text: string): string {
  if (hasIllegalCharacter(text)) throw invalidPlist('text with a character XML does not allow');
  return text.replace(SPECIAL, (character) => ESCAPES[character] ?? character);
}

function number(value: number): string {
  if (Number.isSafeInteger(value)) return `<integer>${Object.is(value, -0) ? 0 : value}</integer>`;
  // Beyond 2^53 a number is not exact; a caller with a larger integer passes a bigint.
  return `<real>${real(value)}</real>`;
}

function real(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? '+infinity' : '-infinity';
  return Object.is(value, -0) ? '-0' : String(value);
}

function object(value: Exclude<PlistInput, string | number | bigint | boolean>, depth: number) {
  const indent = TABS.slice(0, depth);
  if (value instanceof Uint8Array) return `${indent}<data>${base64(value)}</data>\n`;
  if (value instanceof Date) return `${indent}<date>${date(value)}</date>\n`;
  if (value instanceof PlistReal) return `${indent}<real>${real(value.value)}</real>\n`;
  if (typeof value !== 'object' || value === null) throw invalidPlist('a value of no known type');
  if (depth >= MAX_DEPTH) throw invalidPlist('nested too deep');
  if (value instanceof Map) return entries(value, depth);
  return Array.isArray(value)
    ? array(value, depth)
    : dict(value as { readonly [key: string]: PlistInput | undefined }, depth);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function date(value: Date): string {
  const time = value.getTime();
  const year = value.getUTCFullYear();
  if (Number.isNaN(time) || year < 0 || year > 9999) throw invalidPlist('a date out of range');
  return `${value.toISOString().slice(0, 19)}Z`;
}

/** Keeps the order of the keys, which an object loses for keys that look like integers. */
function entries(members: ReadonlyMap<string, PlistInput>, depth: number): string {
  const indent = TABS.slice(0, depth);
  if (members.size === 0) return `${indent}<dict/>\n`;
  let text = '';
  for (const [key, value] of members) {
    text += `${indent}\t<key>${escapeText(key)}</key>\n${element(value, depth + 1)}`;
  }
  return `${indent}<dict>\n${text}${indent}</dict>\n`;
}

function array(values: readonly PlistInput[], depth: number): string {
  const indent = TABS.slice(0, depth);
  if (values.length === 0) return `${indent}<array/>\n`;
  let text = `${indent}<array>\n`;
  for (const value of values) text += element(value, depth + 1);
  return `${text}${indent}</array>\n`;
}

function dict(members: { readonly [key: string]: PlistInput | undefined }, depth: number): string {
  const indent = TABS.slice(0, depth);
  let text = '';
  for (const key of Object.keys(members)) {
    const value = members[key];
    if (value === undefined) continue;
    text += `${indent}\t<key>${escapeText(key)}</key>\n${element(value, depth + 1)}`;
  }
  return text === '' ? `${indent}<dict/>\n` : `${indent}<dict>\n${text}${indent}</dict>\n`;
}
