import { parseSignedData } from '../../crypto/cms/cms-signed-data.js';
import { parseCertificate } from '../../crypto/x509/certificate.js';
import { payloadKinds, topLevelKeys } from '../apple/profile-schema.js';
import { elementKey, keyNamed, type SchemaKey } from '../apple/schema-types.js';
import { type PlistNode, type PlistNodeDict, parsePlistNodes } from '../plist/plist.js';

/** Reading a longer one would hold up the event loop. */
const MAX_BYTES = 512 * 1024;
const MAX_PAYLOADS = 1_000;
const SEQUENCE = 0x30;

/** Exactly what Apple's own tools write: no attribute and no comment has a place for other text. */
const HEAD =
  /^<\?xml version="1\.0" encoding="(?:UTF|utf)-8"\?>\s*<!DOCTYPE plist PUBLIC "-\/\/Apple(?: Computer)?\/\/DTD PLIST 1\.0\/\/EN" "https?:\/\/www\.apple\.com\/DTDs\/PropertyList-1\.0\.dtd">\s*<plist version="1\.0">/;
const OTHER_MARKUP = /<(?!\/?[a-z]+\/?>)/;

/**
 * Payloads whose whole content is secret, or made for one device, or text of any kind, whatever the
 * names of their keys.
 */
const NEVER_PLAIN = new Set([
  'com.apple.ADCertificate.managed',
  'com.apple.declarations',
  'com.apple.mcxloginscripts',
  'com.apple.mdm',
  'com.apple.profileRemovalPassword',
  'com.apple.security.acme',
  'com.apple.security.pem',
  'com.apple.security.pkcs12',
  'com.apple.security.scep',
  'com.apple.security.wapi-identity',
  // Its address alone opens a private calendar.
  'com.apple.subscribedcalendar.account',
]);

/** Keys whose texts may be secret. It is better to match too many. */
const SECRET_NAME =
  /pass|secret|psk|ppk|challenge|token|key|credential|auth|header|recovery|escrow|bypass|script|code$|pin$/i;
/** A user name or a query in a URL, which may name a password or a token. */
const SECRET_URL = /\/\/[^/\s]*@|[?&;#][^=\s]*=/;

/** The keys with data that may be plain, and what that data must be. */
const PLAIN_DATA: Record<string, { key: string; isPlain: (data: Buffer) => boolean }> = {
  'com.apple.font': { key: 'Font', isPlain: () => true },
  'com.apple.webClip.managed': { key: 'Icon', isPlain: () => true },
  'com.apple.security.root': { key: 'PayloadContent', isPlain: isCertificate },
  'com.apple.security.pkcs1': { key: 'PayloadContent', isPlain: isCertificate },
};

/**
 * Whether a configuration profile, signed or not, certainly has no secret: it is XML without
 * comments, Apple's schema knows every payload and key of it, and none of them has a place for a
 * secret. False for every other profile, also for one that can't be read.
 */
export function isPlainProfile(bytes: Buffer): boolean {
  if (bytes.length > MAX_BYTES) return false;
  try {
    const file = bytes[0] === SEQUENCE ? parseSignedData(bytes).content : bytes;
    return file !== undefined && isPlainXml(file) && isPlainRoot(parsePlistNodes(file));
  } catch {
    return false;
  }
}

function isPlainXml(file: Buffer): boolean {
  const text = file.toString('latin1');
  const [head] = HEAD.exec(text) ?? [];
  return head !== undefined && !OTHER_MARKUP.test(text.slice(head.length));
}

function isPlainRoot(profile: PlistNode): boolean {
  if (!(profile instanceof Map)) return false;
  const { PayloadContent: payloads, ...others } = Object.fromEntries(profile);
  if (!Array.isArray(payloads) || payloads.length > MAX_PAYLOADS) return false;
  return (
    isPlainDict(new Map(Object.entries(others)), topLevelKeys) && payloads.every(isPlainPayload)
  );
}

/** Several kinds of payload may share a type: one of them must know all the keys. */
function isPlainPayload(payload: PlistNode): boolean {
  const type = payload instanceof Map ? payload.get('PayloadType') : undefined;
  if (!(payload instanceof Map) || typeof type !== 'string' || NEVER_PLAIN.has(type)) return false;
  const { key, isPlain } = PLAIN_DATA[type] ?? {};
  const data = key === undefined ? undefined : payload.get(key);
  const isPlainData = Buffer.isBuffer(data) && isPlain?.(data) === true;
  const rest = isPlainData ? new Map([...payload].filter(([name]) => name !== key)) : payload;
  return payloadKinds(type).some((keys) => isPlainDict(rest, keys));
}

function isPlainDict(dict: PlistNodeDict, keys: SchemaKey[]): boolean {
  return [...dict].every(([name, value]) => {
    const key = keyNamed(keys, name);
    return key !== undefined && isPlainValue(value, { key, isSecretName: SECRET_NAME.test(name) });
  });
}

/** Flags, numbers and the values that Apple lists only describe how secrets are handled. */
function isPlainValue(
  value: PlistNode,
  { key, isSecretName }: { key: SchemaKey; isSecretName: boolean },
): boolean {
  if (typeof value === 'string') {
    if (key.rangelist?.includes(value)) return true;
    return key.type === 'string' && !isSecretName && !SECRET_URL.test(value);
  }
  if (Buffer.isBuffer(value)) return false;
  if (value instanceof Map) {
    return key.type === 'dictionary' && !isSecretName && isPlainDict(value, key.subkeys ?? []);
  }
  if (Array.isArray(value)) {
    return key.type === 'array' && !isSecretName && value.every((one) => isPlainElement(one, key));
  }
  return key.type !== 'any' || !isSecretName;
}

function isPlainElement(element: PlistNode, array: SchemaKey): boolean {
  const item = element instanceof Map ? element.get('Item') : undefined;
  const key = elementKey(array, item);
  return key !== undefined && isPlainValue(element, { key, isSecretName: false });
}

/** Throws for anything else, which isPlainProfile catches. */
function isCertificate(der: Buffer): boolean {
  parseCertificate(der);
  return true;
}
