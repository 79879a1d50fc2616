import type { JsonValue } from '../../protocol/apple/command-schema.js';

export const MASK = '********';
/** From the colon of `https://…` to the end of the URL. */
const URL_REST = /(:[\\/]+)([^\s"'<>]*)/g;
const URL_KEY = /url$/i;

/**
 * A copy of a command's parameters, result or errors for viewers. Managed app configurations and URLs
 * often hold credentials of other services: configurations, and user names, passwords, queries and
 * fragments of URLs are replaced by asterisks.
 */
export function maskForViewers(json: JsonValue, name = ''): JsonValue {
  if (typeof json === 'string') return maskText(json, name);
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map((element) => maskForViewers(element, name));
  const members = Object.entries(json).map(([key, member]) => {
    const isConfiguration = key === 'Configuration' && member !== null;
    return [key, isConfiguration ? MASK : maskForViewers(member, key)] as const;
  });
  return Object.fromEntries(members);
}

function maskText(text: string, name: string): string {
  const masked = text.replace(
    URL_REST,
    (_url, slashes: string, rest: string) => slashes + maskUrl(rest),
  );
  return URL_KEY.test(name) ? maskQuery(masked) : masked;
}

/** Masks a URL without its scheme (RFC 3986 §3): its userinfo, query and fragment. */
function maskUrl(rest: string): string {
  const end = rest.search(/[\\/?#]/);
  const authority = end < 0 ? rest : rest.slice(0, end);
  const at = authority.lastIndexOf('@');
  const host = at < 0 ? authority : `${MASK}${authority.slice(at)}`;
  return maskQuery(host + rest.slice(authority.length));
}

function maskQuery(url: string): string {
  const start = url.search(/[?#]/);
  return start < 0 || start === url.length - 1 ? url : url.slice(0, start + 1) + MASK;
}
