const BACKSLASH = '\\';

/** The keys with which an element begins. */
const START = /^(?:by|hash|cert|chain|subject|uri|dns)=/i;

/** Whether a header's value has the form of Envoy's x-forwarded-client-cert. */
export function isForwardedClientCert(value: string): boolean {
  return START.test(value);
}

/**
 * The certificate, PEM with percent-encoding, that Envoy's x-forwarded-client-cert names. Of several
 * elements the last one is used: the proxy next to this server wrote it. The others may come from the
 * client, so that the last one is searched for from the end.
 */
export function forwardedCertificate(value: string): string {
  const pairs = readPairs(lastElement(value));
  const [certificate, ...others] = pairs.filter(({ key }) => key === 'cert');
  if (certificate === undefined || others.length > 0) {
    throw new Error('the last element does not have one Cert: set `cert: true` in Envoy');
  }
  return certificate.value;
}

function lastElement(value: string): string {
  let isQuoted = false;
  for (let at = value.length - 1; at >= 0; at -= 1) {
    const character = value[at];
    if (character === '"' && !isEscaped(value, at)) isQuoted = !isQuoted;
    else if (character === ',' && !isQuoted) return value.slice(at + 1).trimStart();
  }
  return value;
}

/** Whether an odd number of backslashes precedes it. */
function isEscaped(value: string, at: number): boolean {
  let first = at;
  while (first > 0 && value[first - 1] === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

const PAIR = /([a-z]+)=(?:"((?:[^"\\]|\\[\s\S])*)"|([^",;]*))(?:;|$)/iy;

function readPairs(element: string): { key: string; value: string }[] {
  const pairs: { key: string; value: string }[] = [];
  let at = 0;
  while (at < element.length) {
    PAIR.lastIndex = at;
    const [whole, key, quoted, plain] = PAIR.exec(element) ?? [];
    if (whole === undefined || key === undefined) throw new Error('not an element of XFCC');
    pairs.push({ key: key.toLowerCase(), value: quoted ?? plain ?? '' });
    at += whole.length;
  }
  return pairs;
}
