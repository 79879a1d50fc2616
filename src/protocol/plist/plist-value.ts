import { AppError } from '../../errors.js';

export type PlistDict = { [key: string]: PlistValue };

/**
 * What a property list holds once read. Integers beyond 2^53 are bigint; a real with a whole value
 * reads as a plain number. Dictionaries inherit nothing, so no key of theirs can be mistaken for a
 * member of Object.
 */
export type PlistValue =
  | string
  | number
  | bigint
  | boolean
  | Date
  | Buffer
  | PlistValue[]
  | PlistDict;

/**
 * A real for the writer, for values that are whole: `new PlistReal(64)` writes `<real>64</real>`.
 */
export class PlistReal {
  constructor(readonly value: number) {}
}

/** What the writer accepts: read values, reals, Maps, and members that are undefined (left out). */
export type PlistInput =
  | string
  | number
  | bigint
  | boolean
  | Date
  | Uint8Array
  | PlistReal
  | readonly PlistInput[]
  | ReadonlyMap<string, PlistInput>
  | { readonly [key: string]: PlistInput | undefined };

export interface PlistLimits {
  /** Size of the document, and of all the text and data in it once references are followed. */
  maxBytes: number;
  maxDepth: number;
  /** Values, keys, comments and CDATA sections together. */
  maxNodes: number;
  /** Entities and character references of the XML form. */
  maxReferences: number;
}

/**
 * The list of 1,000 applications of a Mac has 30,000 values and keys, and fewer than 100
 * references.
 */
export const DEFAULT_PLIST_LIMITS: PlistLimits = {
  maxBytes: 20 * 1024 * 1024,
  maxDepth: 64,
  maxNodes: 500_000,
  maxReferences: 200_000,
};

/**
 * Code units that XML 1.0 §2.2 does not allow, and the surrogates, which it allows in pairs only.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const SUSPECT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff\ufffe\uffff]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const ILLEGAL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff\p{Surrogate}]/u;

/** Whether XML cannot hold the text. The first pattern is the quick one, the second knows pairs. */
export function hasIllegalCharacter(text: string): boolean {
  return SUSPECT.test(text) && ILLEGAL.test(text);
}

/** AppError `invalid_plist` 400. */
export function invalidPlist(reason: string, cause?: unknown): AppError {
  return new AppError('invalid_plist', 400, `Not a valid property list: ${reason}`, { cause });
}

/** Whether a value is a dictionary, and no date, data, real or array. */
export function isPlistDict(value: unknown): value is PlistDict {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !(value instanceof Date || value instanceof Uint8Array || value instanceof PlistReal);
}

/**
 * Objects with nothing inherited, in the engine's fast mode: Object.create(null) reads 20 % slower.
 */
const EmptyDict = function EmptyDict() {} as unknown as {
  new (): PlistDict;
  prototype: object;
};
EmptyDict.prototype = Object.create(null) as object;

export function newDict(): PlistDict {
  return new EmptyDict();
}
