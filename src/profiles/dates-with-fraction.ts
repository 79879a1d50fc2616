import { pointerTo } from '../protocol/apple/schema-types.js';
import {
  isPlistDict,
  type PlistLimits,
  type PlistNode,
  type PlistValue,
  parsePlist,
} from '../protocol/plist/plist.js';

/**
 * JSON pointers to the dates in the bytes of a property list that have a fraction of a second,
 * which their nodes do not have any more. Few profiles have dates, so few are read a second time.
 */
export function datesWithFraction(
  bytes: Buffer,
  { nodes, limits }: { nodes: PlistNode; limits: Partial<PlistLimits> },
): string[] {
  return hasDate(nodes) ? fractionsOf(parsePlist(bytes, limits), '') : [];
}

function hasDate(node: PlistNode): boolean {
  if (node instanceof Map) return [...node.values()].some(hasDate);
  return Array.isArray(node) ? node.some(hasDate) : node instanceof Date;
}

function fractionsOf(value: PlistValue, at: string): string[] {
  if (value instanceof Date) return value.getTime() % 1000 === 0 ? [] : [at];
  if (!Array.isArray(value) && !isPlistDict(value)) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    fractionsOf(member, pointerTo(at, name)),
  );
}
