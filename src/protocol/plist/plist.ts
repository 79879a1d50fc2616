import { isAscii, isUtf8 } from 'node:buffer';
import { readBinaryNodes, readBinaryPlist } from './plist-binary-reader.js';
import { nodeToInput, type PlistNode } from './plist-node.js';
import {
  DEFAULT_PLIST_LIMITS,
  invalidPlist,
  isPlistDict,
  type PlistDict,
  type PlistInput,
  type PlistLimits,
  type PlistValue,
} from './plist-value.js';
import { readXmlNodes, readXmlPlist } from './plist-xml-reader.js';
import { withLineFeeds } from './plist-xml-syntax.js';
import { writeXmlPlist } from './plist-xml-writer.js';

export { nodeToValue, type PlistNode, type PlistNodeDict } from './plist-node.js';
export type { PlistDict, PlistInput, PlistLimits, PlistValue } from './plist-value.js';
export { hasIllegalCharacter, isPlistDict, PlistReal } from './plist-value.js';

/**
 * Reads a property list, XML (UTF-8, with or without a byte order mark) or binary (`bplist00`).
 * Missing limits are those of DEFAULT_PLIST_LIMITS. Throws AppError invalid_plist (400) for every
 * fault.
 */
export function parsePlist(bytes: Buffer, limits: Partial<PlistLimits> = {}): PlistValue {
  const all = allLimits(bytes, limits);
  if (isBinaryPlist(bytes)) return readBinaryPlist(binaryVersion(bytes), all);
  return readXmlPlist(decode(bytes), all);
}

/**
 * Reads a property list without loss, so that buildPlistNodes writes an equal one. Refuses what
 * parsePlist refuses, and two equal keys in one dictionary.
 */
export function parsePlistNodes(bytes: Buffer, limits: Partial<PlistLimits> = {}): PlistNode {
  const all = allLimits(bytes, limits);
  if (isBinaryPlist(bytes)) return readBinaryNodes(binaryVersion(bytes), all);
  return readXmlNodes(decode(bytes), all);
}

/** Whether the bytes begin with `bplist`, of any version. */
export function isBinaryPlist(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, 6) === 'bplist';
}

/** The same for a document whose value must be a dictionary, as all of Apple's messages are. */
export function parsePlistDict(bytes: Buffer, limits: Partial<PlistLimits> = {}): PlistDict {
  const value = parsePlist(bytes, limits);
  if (!isPlistDict(value)) throw invalidPlist('it is no dictionary');
  return value;
}

/**
 * Writes an XML property list in UTF-8. Whole numbers become integers and others reals; wrap a real
 * that may be whole in PlistReal. Members that are undefined are left out, dates lose their
 * fraction. Throws AppError invalid_plist for text or dates XML cannot hold.
 */
export function buildPlist(value: PlistInput): Buffer {
  return Buffer.from(writeXmlPlist(value), 'utf8');
}

/** Writes what parsePlistNodes reads, as an XML property list in UTF-8. */
export function buildPlistNodes(node: PlistNode): Buffer {
  return buildPlist(nodeToInput(node));
}

function allLimits(bytes: Buffer, limits: Partial<PlistLimits>): PlistLimits {
  const all = { ...DEFAULT_PLIST_LIMITS, ...limits };
  if (bytes.length > all.maxBytes) throw invalidPlist('too large');
  return all;
}

function binaryVersion(bytes: Buffer): Buffer {
  if (bytes.toString('latin1', 6, 7) !== '0') throw invalidPlist('binary of an unknown version');
  return bytes;
}

function decode(received: Buffer): string {
  const bytes = withLineFeeds(received);
  // One byte a character where that suffices: scanning such a string is about twice as fast.
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (!isUtf8(bytes)) throw invalidPlist('its text is not UTF-8');
  const text = bytes.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}
