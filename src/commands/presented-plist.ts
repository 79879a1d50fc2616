import { AppError } from '../errors.js';
import { type JsonValue, maskSecrets, plistToJson } from '../protocol/apple/command-schema.js';
import { type PlistDict, parsePlistDict } from '../protocol/plist/plist.js';
import { maskForViewers } from './viewer-mask.js';

export type JsonObject = { [key: string]: JsonValue };

/** Who reads a command. */
export interface Reader {
  role: 'viewer' | 'operator' | 'admin';
}

/** The JSON view of a command's parameters or of its result, as the reader may see it. */
export function presentPlist(dict: PlistDict, { role }: Reader): JsonObject {
  const json = maskSecrets(plistToJson(dict));
  return role === 'viewer' ? (maskForViewers(json) as JsonObject) : json;
}

/** The JSON text of a stored result; `null` for one that the limits of today do not let read. */
export function resultText(result: Buffer, reader: Reader): string {
  try {
    return JSON.stringify(presentPlist(parsePlistDict(result), reader));
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_plist') return 'null';
    throw error;
  }
}
