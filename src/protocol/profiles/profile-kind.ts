import { isPlistDict, parsePlistDict } from '../plist/plist.js';

/** Reading a longer one would hold up the event loop for more than 10 ms: it is searched. */
const MAX_BYTES_READ = 64 * 1024;
const SEQUENCE = 0x30;
/** Bytes of a ContentInfo before its content, in DER or BER (RFC 5652 §3). */
const CMS_HEAD = 32;
/** The object identifiers of signedData and envelopedData. */
const CMS_TYPES = ['06092a864886f70d010702', '06092a864886f70d010703'].map((hex) =>
  Buffer.from(hex, 'hex'),
);

/** Whether bytes are a configuration profile: a property list, or a signed or encrypted one. */
export function isConfigurationProfile(bytes: Buffer): boolean {
  if (bytes[0] === SEQUENCE) {
    const head = bytes.subarray(0, CMS_HEAD);
    return CMS_TYPES.some((oid) => head.includes(oid));
  }
  if (bytes.length > MAX_BYTES_READ) {
    return bytes.includes('PayloadType') && bytes.includes('Configuration');
  }
  try {
    const profile = parsePlistDict(bytes);
    return isPlistDict(profile) && profile.PayloadType === 'Configuration';
  } catch {
    return false;
  }
}
