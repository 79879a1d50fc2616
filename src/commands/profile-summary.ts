import { LRUCache } from 'lru-cache';
import { parseSignedData } from '../crypto/cms/cms-signed-data.js';
import type { JsonValue } from '../protocol/apple/command-schema.js';
import { type PlistDict, parsePlistDict } from '../protocol/plist/plist.js';

/** What is shown of the profile of an InstallProfile command: its contents hold secrets. */
export type ProfileSummary = { [key: string]: JsonValue };

const SHOWN = ['PayloadIdentifier', 'PayloadUUID', 'PayloadDisplayName'];
/** Larger ones are not parsed for the summary. */
const MOST_BYTES = 256 * 1024;
const SEQUENCE = 0x30;

/** By the command's UUID: payloads never change. */
const summaries = new LRUCache<string, ProfileSummary>({ max: 1000 });

/** Identifier, UUID and name of a configuration profile, and its size in bytes. */
export function profileSummary(commandUuid: string, profile: Buffer): ProfileSummary {
  const known = summaries.get(commandUuid);
  if (known !== undefined) return known;
  const summary = { ...namesOf(profile), size: profile.length };
  summaries.set(commandUuid, summary);
  return summary;
}

/** None of a profile that can't be read: the device says what is wrong with it. */
function namesOf(profile: Buffer): ProfileSummary {
  if (profile.length > MOST_BYTES) return {};
  try {
    const dict = readProfile(profile);
    const summary: ProfileSummary = {};
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
