import type { PlistNode, PlistNodeDict } from '../protocol/plist/plist.js';

/** Keys whose texts and data are secrets; more than Apple's schema marks. */
const SECRET_NAME =
  /pass(word|phrase|code)|secret|psk|challenge|token|private_?key|recovery_?key|credential|api_?key|(^|_)pin$/i;

/** Payloads that hold a private key as their content. */
const IDENTITIES = new Set(['com.apple.security.pkcs12', 'com.apple.security.wapi-identity']);

/** Whether any payload, at any depth, holds a secret, which only operators may see. */
export function holdsSecrets(profile: PlistNodeDict): boolean {
  const payloads = profile.get('PayloadContent');
  return (Array.isArray(payloads) && payloads.some(isIdentity)) || hasSecret(profile, false);
}

function isIdentity(payload: PlistNode): boolean {
  const type = payload instanceof Map ? payload.get('PayloadType') : undefined;
  return typeof type === 'string' && IDENTITIES.has(type);
}

/** Flags and numbers with such a name only describe how secrets are handled. */
function hasSecret(node: PlistNode, isNamed: boolean): boolean {
  if (node instanceof Map) {
    return [...node].some(([name, member]) => hasSecret(member, isNamed || SECRET_NAME.test(name)));
  }
  if (Array.isArray(node)) return node.some((element) => hasSecret(element, isNamed));
  return isNamed && (typeof node === 'string' || Buffer.isBuffer(node)) && node.length > 0;
}
