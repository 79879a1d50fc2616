import { type PlistNodeDict, parsePlistNodes } from '../protocol/plist/plist.js';

/** The stored parts come from files within their own limits; in XML they take more space. */
const LIMITS = { maxBytes: 256 * 1024 * 1024, maxNodes: 1_000_000, maxReferences: 10_000_000 };

/** A profile as it is stored: property lists of its top level and of each payload. */
export interface ProfileParts {
  topLevel: Buffer;
  payloads: Buffer[];
}

/** The top level, its PayloadContent an empty array, and the payloads in their order. */
export function readParts({ topLevel, payloads }: ProfileParts): {
  topLevel: PlistNodeDict;
  payloads: PlistNodeDict[];
} {
  return { topLevel: readDict(topLevel), payloads: payloads.map(readDict) };
}

export function sizeOfParts({ topLevel, payloads }: ProfileParts): number {
  return payloads.reduce((sum, { length }) => sum + length, topLevel.length);
}

function readDict(part: Buffer): PlistNodeDict {
  const nodes = parsePlistNodes(part, LIMITS);
  if (!(nodes instanceof Map)) throw new Error('a part of a stored profile is no dictionary');
  return nodes;
}
