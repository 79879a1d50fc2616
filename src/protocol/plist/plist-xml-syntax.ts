import type { PlistRead } from './plist-node.js';
import { hasIllegalCharacter, newDict, type PlistDict } from './plist-value.js';

/** What stands before the first value, tag by tag; none is longer than MAX_PROLOG_TAG_LENGTH. */
export const XML_DECLARATION =
  /^<\?xml\s+version\s*=\s*["']1\.[01]["'](?:\s+encoding\s*=\s*["']([\w.-]+)["'])?(?:\s+standalone\s*=\s*["'](?:yes|no)["'])?\s*\?>/;
export const DOCTYPE =
  /^<!DOCTYPE\s+plist(?:\s+(?:PUBLIC\s+(?:"[^"]*"|'[^']*')|SYSTEM)\s+(?:"[^"]*"|'[^']*'))?\s*>/;
export const PLIST_OPEN = /^<plist(?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*')){0,16}\s*>/;
export const PLIST_CLOSE = /^<\/plist\s*>/;
/**
 * Apple's DOCTYPE has 111 characters. Attributes without end would overflow the pattern's stack.
 */
export const MAX_PROLOG_TAG_LENGTH = 2_048;

/** One open container: a dictionary, waiting for a key or holding one, or an array. */
export interface Frame {
  dict: PlistDict | undefined;
  array: PlistRead[] | undefined;
  /** A dictionary that keeps the order of its keys. */
  map: Map<string, PlistRead> | undefined;
  key: string | undefined;
}

/** Every frame has the same members, so that V8 keeps one hidden class. */
export function dictFrame(exact: boolean): Frame {
  if (exact) return { dict: undefined, array: undefined, map: new Map(), key: undefined };
  return { dict: newDict(), array: undefined, map: undefined, key: undefined };
}

export function arrayFrame(): Frame {
  return { dict: undefined, array: [], map: undefined, key: undefined };
}

/** The value of an empty element like `<string/>`; undefined for a name that has none. */
export function emptyValue(name: string, exact: boolean): PlistRead | undefined {
  switch (name) {
    case 'string':
      return '';
    case 'data':
      return Buffer.alloc(0);
    case 'dict':
      return exact ? new Map() : newDict();
    case 'array':
      return [];
    case 'true':
      return true;
    case 'false':
      return false;
    default:
      return undefined;
  }
}

const NAMED = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);
const NUMBER = /^#(?:(\d{1,7})|x([0-9a-fA-F]{1,6}))$/;
/** `#1114111`; nothing that a reference may say is longer. */
const MAX_REFERENCE_LENGTH = 8;

/** The text with its references replaced, in one pass. `onReference` counts them; `fail` throws. */
export function decodeReferences(
  raw: string,
  { onReference, fail }: { onReference: () => void; fail: (reason: string) => never },
): string {
  let text = '';
  let from = 0;
  for (let at = raw.indexOf('&'); at >= 0; at = raw.indexOf('&', from)) {
    onReference();
    const start = at + 1;
    const length = raw.slice(start, start + MAX_REFERENCE_LENGTH + 1).indexOf(';');
    if (length < 0) fail('unknown entity');
    text += raw.slice(from, at) + referencedText(raw.slice(start, start + length), fail);
    from = start + length + 1;
  }
  return text + raw.slice(from);
}

const CARRIAGE_RETURN = 13;
const LINE_FEED = 10;

/**
 * XML 1.0 §2.11: line ends are read as a line feed, however they were written. UTF-8 in and out.
 */
export function withLineFeeds(bytes: Buffer): Buffer {
  const first = bytes.indexOf(CARRIAGE_RETURN);
  if (first < 0) return bytes;
  const copy = Buffer.from(bytes);
  let end = first;
  for (let at = first; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte !== CARRIAGE_RETURN) copy[end++] = byte as number;
    else if (bytes[at + 1] !== LINE_FEED) copy[end++] = LINE_FEED;
  }
  return copy.subarray(0, end);
}

/** The text of an entity or character reference, given without its `&` and `;`. `fail` throws. */
function referencedText(reference: string, fail: (reason: string) => never): string {
  const named = NAMED.get(reference);
  if (named !== undefined) return named;
  const [, decimal, hex] = NUMBER.exec(reference) ?? fail('unknown entity');
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  const character = code > 0x10ffff ? '\0' : String.fromCodePoint(code);
  if (hasIllegalCharacter(character)) fail('reference to an illegal character');
  return character;
}
