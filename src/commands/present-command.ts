import { LRUCache } from 'lru-cache';
import { parseSignedData } from '../crypto/cms/cms-signed-data.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import { AppError } from '../errors.js';
import { type JsonValue, maskSecrets, plistToJson } from '../protocol/apple/command-schema.js';
import { type PlistDict, parsePlistDict } from '../protocol/plist/plist.js';
import { readParameters } from './payload.js';
import { maskForViewers } from './viewer-mask.js';

export type JsonObject = { [key: string]: JsonValue };

/** The role of the token that reads a command. */
export interface Reader {
  role: 'viewer' | 'operator' | 'admin';
}

/** The parameters of a stored command as JSON, without what the reader may not see. */
export function presentParameters(
  box: SecretBox,
  row: { uuid: string; request_type: string; plist: Buffer },
  reader: Reader,
): JsonObject {
  const parameters = readParameters(box, { uuid: row.uuid, payload: row.plist });
  const { Payload: profile, ...others } = parameters;
  if (row.request_type !== 'InstallProfile' || !Buffer.isBuffer(profile)) {
    return presentPlist(parameters, reader);
  }
  return { ...presentPlist(others, reader), Payload: profileSummary(row.uuid, profile) };
}

/** Parameters or a result as JSON, without what the reader may not see. */
export function presentPlist(dict: PlistDict, { role }: Reader): JsonObject {
  const json = maskSecrets(plistToJson(dict));
  return role === 'viewer' ? (maskForViewers(json) as JsonObject) : json;
}

/** The JSON text of a stored result; `null` for one that today's limits do not allow to read. */
export function resultText(result: Buffer, reader: Reader): string {
  try {
    return JSON.stringify(presentPlist(parsePlistDict(result), reader));
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_plist') return 'null';
    throw error;
  }
}

const SHOWN = ['PayloadIdentifier', 'PayloadUUID', 'PayloadDisplayName'];
/** Larger ones are not parsed for the summary. */
const MOST_BYTES = 256 * 1024;
const SEQUENCE = 0x30;

/** By the command's UUID: payloads never change. */
const summaries = new LRUCache<string, JsonObject>({ max: 1000 });

/** Identifier, UUID, name and size in bytes of a configuration profile: its contents hold secrets. */
function profileSummary(commandUuid: string, profile: Buffer): JsonObject {
  const known = summaries.get(commandUuid);
  if (known !== undefined) return known;
  const summary = { ...namesOf(profile), size: profile.length };
  summaries.set(commandUuid, summary);
  return summary;
}

/** {} for a profile that cannot be read: the device's report says why. */
function namesOf(profile: Buffer): JsonObject {
  if (profile.length > MOST_BYTES) return {};
  try {
    const dict = readProfile(profile);
    const summary: JsonObject = {};
    for (const key of SHOWN) {
      const value = dict[key];
      if (typeof value === 'string') summary[key] = value;
    }
    return summary;
  } catch {
    return {};
  }
}

function readProfile(profile: Buffer): PlistDict {
  if (profile[0] !== SEQUENCE) return parsePlistDict(profile);
  return parsePlistDict(parseSignedData(profile).content ?? Buffer.alloc(0));
}
