import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { parseSignedData } from '../crypto/cms/cms-signed-data.js';
import { SecretBox } from '../crypto/secrets/secret-box.js';
import type { ProfileValues } from '../db/device-path/report-exchange.js';
import { AppError } from '../errors.js';
import { type JsonValue, maskSecrets, plistToJson } from '../protocol/apple/command-schema.js';
import { type PlistDict, parsePlistDict } from '../protocol/plist/plist.js';
import { renderText } from '../protocol/profiles/profile-variables.js';
import { readParameters } from './payload.js';
import { MASK, maskForViewers } from './secrets/viewer-mask.js';

export type JsonObject = { [key: string]: JsonValue };

/** The role of the token that reads a command. */
export interface Reader {
  role: 'viewer' | 'operator' | 'admin';
}

/** What is stored of a command. */
export interface StoredPlist {
  uuid: string;
  request_type: string;
  /** Its own payload or the shared one, which are sealed differently. */
  plist: Buffer;
  payload_sha256: Buffer | null;
  /** Set for a profile that is rendered at delivery. */
  payload_values?: Omit<ProfileValues, 'secrets'> | null;
}

/** The parameters of a stored command as JSON, without what the reader may not see. */
export function presentParameters(box: SecretBox, row: StoredPlist, reader: Reader): JsonObject {
  const { uuid, plist } = row;
  const isShared = row.payload_sha256 !== null;
  if (row.request_type !== 'InstallProfile') {
    return presentPlist(readParameters(box, { uuid, payload: plist, isShared }), reader);
  }
  const { others, summary } = readInstallProfile(box, { uuid, plist, isShared });
  const profile = summary && row.payload_values ? rendered(summary, row.payload_values) : summary;
  const parameters = presentPlist(others, reader);
  return profile ? { ...parameters, Payload: profile } : parameters;
}

/** What is shown of a template becomes what is shown of the profile; its size is not known. */
function rendered(
  { size: _size, ...template }: JsonObject,
  { uuid, values }: Omit<ProfileValues, 'secrets'>,
): JsonObject {
  const variables = Object.entries(values).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : MASK,
  ]);
  const { PayloadDisplayName: name } = template;
  const shown = typeof name === 'string' ? renderText(name, new Map(variables)) : undefined;
  const profile: JsonObject = { ...template, PayloadUUID: uuid };
  if (shown !== undefined) profile.PayloadDisplayName = shown;
  return { ...profile, variables: Object.fromEntries(variables) };
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
const MAX_BYTES = 256 * 1024;
const SEQUENCE = 0x30;

/** How a command InstallProfile is shown. */
interface ShownProfile {
  /** The parameters without the profile. */
  others: PlistDict;
  /** Identifier, UUID, name and size in bytes of the profile: its contents hold secrets. */
  summary: JsonObject | undefined;
}

/** Sealed payloads by their command's UUID, since they never change; others by their SHA-256. */
const shownProfiles = new LRUCache<string, ShownProfile>({ max: 1000 });

function readInstallProfile(
  box: SecretBox,
  { uuid, plist, isShared }: { uuid: string; plist: Buffer; isShared: boolean },
): ShownProfile {
  const isSealed = SecretBox.isSealed(plist);
  const key = isSealed ? uuid : createHash('sha256').update(plist).digest('base64');
  const known = shownProfiles.get(key);
  if (known !== undefined) return known;
  const parameters = readParameters(box, { uuid, payload: plist, isShared });
  const { Payload: profile, ...others } = parameters;
  const shown = Buffer.isBuffer(profile)
    ? { others, summary: { ...namesOf(profile), size: profile.length } }
    : { others: parameters, summary: undefined };
  shownProfiles.set(key, shown);
  return shown;
}

/** {} for a profile that cannot be read: the device's report says why. */
function namesOf(profile: Buffer): JsonObject {
  if (profile.length > MAX_BYTES) return {};
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
