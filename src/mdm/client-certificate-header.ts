import { decodeBase64 } from '../crypto/asn1/base64.js';
import { Tag } from '../crypto/asn1/der.js';
import { decodePem } from '../crypto/asn1/pem.js';
import { AppError } from '../errors.js';
import { forwardedCertificate, isForwardedClientCert } from './forwarded-client-cert.js';

const MAX_LENGTH = 16_384;

/** RFC 8941 3.1.2 and 3.3: a key, and a number, string, token, Byte Sequence or Boolean. */
const KEY = /[a-z*][a-z0-9_.*-]*/.source;
const BARE_ITEM = [
  /-?[0-9]{1,15}(?:\.[0-9]{1,3})?/,
  /"(?:[ !#-[\]-~]|\\["\\])*"/,
  /[A-Za-z*][\w!#$%&'*+.^`|~:/-]*/,
  /:[A-Za-z0-9+/=]*:/,
  /\?[01]/,
].map(({ source }) => source);
const PARAMETER = `; *${KEY}(?:=(?:${BARE_ITEM.join('|')}))?`;
const BYTE_SEQUENCE = new RegExp(`^:([A-Za-z0-9+/]+={0,2}):(?:${PARAMETER})*$`);

/**
 * An Item that is a Byte Sequence; padding may be missing (RFC 8941 4.2.7). RFC 9440 defines no
 * parameters, so any that follow are ignored.
 */
function ofByteSequence(value: string): Buffer {
  const text = BYTE_SEQUENCE.exec(value)?.[1];
  const der = text && decodeBase64(text.padEnd(Math.ceil(text.length / 4) * 4, '='));
  if (!der) throw new Error('not one Byte Sequence');
  return der;
}

/** What Caddy and Apache write if their client showed no certificate. */
const NO_CERTIFICATE = /^(?::?\{http\.request\.tls\.client\.\w+\}:?|\(null\))$/;

/** PEM has hyphens, standard base64 has none. */
const HYPHEN = /-|%2D/i;

const BASE64 = /[A-Za-z0-9+/]+={0,2}/.source;
const MAX_CHAIN = 10;
const BASE64_LIST = new RegExp(`^${BASE64}(?:,${BASE64}){0,${MAX_CHAIN - 1}}$`);

/**
 * One CERTIFICATE block, with percent-encoding or with spaces for its line ends. Where a plus sign
 * stands for a space, as Go's QueryEscape writes it, the label has one too.
 */
function ofPem(value: string): Buffer {
  const isQueryEscaped = value.includes('BEGIN+CERTIFICATE');
  const text = decodeURIComponent(isQueryEscaped ? value.replaceAll('+', ' ') : value).trim();
  const isWhole = /^-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----$/.test(text);
  const [block] = isWhole ? decodePem(text) : [];
  if (block === undefined) throw new Error('not one certificate in PEM');
  return block.der;
}

/** DER in base64, the client's own certificate first where there are several. */
function ofBase64(value: string): Buffer {
  const text = value.includes('%') ? decodeURIComponent(value) : value;
  const [first = ''] = BASE64_LIST.test(text) ? text.split(',', 1) : [];
  const der = decodeBase64(first);
  if (der?.[0] !== Tag.sequence) throw new Error('no form of a certificate');
  return der;
}

/** No setting names the form: the forms cannot be confused. */
function ofAnyForm(value: string): Buffer {
  if (value.startsWith(':')) return ofByteSequence(value);
  if (isForwardedClientCert(value)) return ofPem(forwardedCertificate(value));
  return HYPHEN.test(value) ? ofPem(value) : ofBase64(value);
}

function read([value = '', ...others]: readonly string[]): Buffer | undefined {
  if (others.length > 0) throw new Error('the header is repeated');
  if (value.length > MAX_LENGTH) throw new Error('the header is too long');
  return value === '' || NO_CERTIFICATE.test(value) ? undefined : ofAnyForm(value);
}

/**
 * DER of the certificate in a header of a proxy: `:base64:` as RFC 9440 writes it; PEM with
 * percent-encoding; base64 of DER, also a list; or Envoy's x-forwarded-client-cert. `values` are
 * those of all headers of the name. Undefined when the proxy says that its client showed none.
 * @throws AppError `invalid_certificate` (400) when there is more than one, or anything else
 */
export function readClientCertificateHeader(values: readonly string[]): Buffer | undefined {
  try {
    return read(values);
  } catch (cause) {
    throw invalidClientCertificate(cause);
  }
}

/** One message for every fault, with the reason as its cause. */
export function invalidClientCertificate(cause: unknown): AppError {
  if (cause instanceof AppError && cause.code === 'invalid_certificate') return cause;
  return new AppError('invalid_certificate', 400, 'the client certificate is not valid', { cause });
}
