import { toPlistInteger } from './plist-scalars.js';
import {
  invalidPlist,
  newDict,
  type PlistDict,
  type PlistInput,
  PlistReal,
  type PlistValue,
} from './plist-value.js';

/**
 * A property list without loss: every integer is a bigint, every real a
 * number, and a dictionary a Map in the order of its keys. Dates are whole seconds, as the XML form
 * has them; what a binary date has beyond is cut off.
 */
export type PlistNode =
  | string
  | bigint
  | number
  | boolean
  | Date
  | Buffer
  | PlistNode[]
  | PlistNodeDict;

export type PlistNodeDict = Map<string, PlistNode>;

/** What a reader makes: a PlistValue or a PlistNode, all the way down. */
export type PlistRead =
  | string
  | bigint
  | number
  | boolean
  | Date
  | Buffer
  | PlistRead[]
  | PlistDict
  | Map<string, PlistRead>;

/** Two equal keys would leave open which one counts: AppError invalid_plist. */
export function addEntry(dict: Map<string, PlistRead>, key: string, value: PlistRead): void {
  if (dict.has(key)) throw invalidPlist(`the key '${key.slice(0, 80)}' twice in one dictionary`);
  dict.set(key, value);
}

/** Cuts off milliseconds. */
export function wholeSeconds(date: Date): Date {
  return new Date(Math.floor(date.getTime() / 1000) * 1000);
}

/** As parsePlist would have read it. */
export function nodeToValue(node: PlistNodeDict): PlistDict;
export function nodeToValue(node: PlistNode): PlistValue;
export function nodeToValue(node: PlistNode): PlistValue {
  if (typeof node === 'bigint') return toPlistInteger(node);
  if (Array.isArray(node)) return node.map((element) => nodeToValue(element));
  if (!(node instanceof Map)) return node;
  const dict = newDict();
  for (const [key, member] of node) dict[key] = nodeToValue(member);
  return dict;
}

/** For the writer, which writes a whole number as an integer. */
export function nodeToInput(node: PlistNode): PlistInput {
  if (typeof node === 'number') return new PlistReal(node);
  if (Array.isArray(node)) return node.map(nodeToInput);
  if (!(node instanceof Map)) return node;
  return new Map([...node].map(([key, member]) => [key, nodeToInput(member)]));
}
