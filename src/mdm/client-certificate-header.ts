import { decodeBase64 } from '../crypto/base64.js';
import { decodePem } from '../crypto/pem.js';
import { AppError } from '../errors.js';

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
 * parameters, so those that are there mean nothing.
 */
function ofByteSequence(value: string): Buffer {
  const text = BYTE_SEQUENCE.exec(value)?.[1];
  const der = text && decodeBase64(text.padEnd(Math.ceil(text.length / 4) * 4, '='));
  if (!der) throw new Error('not one Byte Sequence');
  return der;
}

/** One CERTIFICATE block with percent-encoding, at least of its line ends. */
function ofPem(value: string): Buffer {
  const text = decodeURIComponent(value).trim();
  const isWhole = /^-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----$/.test(text);
  const [block] = isWhole ? decodePem(text) : [];
  if (block === undefined) throw new Error('not one certificate in PEM');
  return block.der;
}

function read([value = '', ...others]: readonly string[]): Buffer | undefined {
  if (others.length > 0) throw new Error('the header is repeated');
  if (value === '') return undefined;
  if (value.length > MAX_LENGTH) throw new Error('the header is too long');
  return value.startsWith(':') ? ofByteSequence(value) : ofPem(value);
}

/**
 * DER of the certificate in a header of a proxy: `:base64:` as RFC 9440 writes it, or PEM with
 * percent-encoding. `values` are those of all headers of the name. Undefined when the proxy says
 * that its client showed none.
 * @throws AppError `invalid_certificate` (400) when there is more than one, or anything else
 */
export function readClientCertificateHeader(values: readonly string[]): Buffer | undefined {
  try {
    return read(values);
  } catch (cause) {
    throw invalidClientCertificate(cause);
  }
}

/** One message for every fault, the reason as cause. */
export function invalidClientCertificate(cause: unknown): AppError {
  if (cause instanceof AppError && cause.code === 'invalid_certificate') return cause;
  return new AppError('invalid_certificate', 400, 'the client certificate is not valid', { cause });
}
