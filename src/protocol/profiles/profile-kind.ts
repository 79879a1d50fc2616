import { parseSignedData } from '../../crypto/cms/cms-signed-data.js';
import type { Finding } from '../../errors.js';
import { type PlistNodeDict, parsePlistNodes } from '../plist/plist.js';
import { checkProfile } from './check-profile.js';
import { shorten } from './findings.js';

/** Reading a longer one would hold up the event loop for more than 10 ms: it is searched. */
const MAX_BYTES_READ = 64 * 1024;
const SEQUENCE = 0x30;
/** Bytes of a ContentInfo before its content, in DER or BER (RFC 5652 §3). */
const CMS_HEAD = 32;
/** The object identifiers of signedData and envelopedData. */
const CMS_TYPES = ['06092a864886f70d010702', '06092a864886f70d010703'].map((hex) =>
  Buffer.from(hex, 'hex'),
);

const NO_PROFILE =
  'must be a configuration profile in base64: a property list whose PayloadType is ' +
  'Configuration, or a signed or encrypted one';

/** What can be read of bytes that should be a configuration profile. */
export interface ReadProfile {
  /** What they must be instead; undefined if they are a configuration profile. */
  fault?: string | undefined;
  /** Undefined where the profile is encrypted, too long, or signed in a way that can't be read. */
  profile?: PlistNodeDict | undefined;
}

/** Reads a configuration profile: a property list, or a signed or encrypted one. */
export function readProfile(bytes: Buffer, maxBytes = MAX_BYTES_READ): ReadProfile {
  if (bytes[0] !== SEQUENCE) return readPlain(bytes, maxBytes);
  const head = bytes.subarray(0, CMS_HEAD);
  if (!CMS_TYPES.some((oid) => head.includes(oid))) return { fault: NO_PROFILE };
  const content = signedContent(bytes);
  return content === undefined || content[0] === SEQUENCE ? {} : readPlain(content, maxBytes);
}

/** The errors that an upload of the profile has. None of a profile that can't be read. */
export function profileFaults(bytes: Buffer): Finding[] {
  const { fault, profile } = readProfile(bytes);
  if (fault !== undefined) return [{ pointer: '', detail: fault }];
  return profile === undefined ? [] : shorten(checkProfile(profile).errors);
}

/** Undefined for what is encrypted or can't be read. */
function signedContent(bytes: Buffer): Buffer | undefined {
  try {
    return parseSignedData(bytes).content;
  } catch {
    return undefined;
  }
}

function readPlain(bytes: Buffer, maxBytes: number): ReadProfile {
  if (bytes.length > maxBytes) {
    const isProfile = bytes.includes('PayloadType') && bytes.includes('Configuration');
    return isProfile ? {} : { fault: NO_PROFILE };
  }
  try {
    const profile = parsePlistNodes(bytes);
    if (!(profile instanceof Map) || profile.get('PayloadType') !== 'Configuration') {
      return { fault: NO_PROFILE };
    }
    return isEncrypted(profile) ? {} : { profile };
  } catch {
    return { fault: NO_PROFILE };
  }
}

export function isEncrypted(profile: PlistNodeDict): boolean {
  return profile.has('EncryptedPayloadContent') || profile.get('IsEncrypted') === true;
}
