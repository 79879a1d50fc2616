import { decodeBase64 } from '../../crypto/asn1/base64.js';
import { decodePem, isPem } from '../../crypto/asn1/pem.js';
import { describeKey } from '../../crypto/keys/keys.js';
import { type ParsedCsr, parseCsr } from '../../crypto/x509/csr.js';
import { AppError } from '../../errors.js';
import { formatAlternativeName } from '../certificates/alternative-names.js';
import { attributeFault, refusal } from '../certificates/attribute-refusal.js';

const LABEL = /^(NEW )?CERTIFICATE REQUEST$/;

/** The one request in PEM, or in DER as base64. AppError 422 naming the attribute. */
export function readRequestText(text: string): ParsedCsr {
  try {
    return parseCsr(requestBytes(text));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw refusal([attributeFault('pem_request', `pem_request: ${error.message}`, error.code)]);
  }
}

/** The attributes of a signing request that have no column. */
export interface SigningRequestView {
  subject_alt_names: string[];
  key_type: 'RSA' | 'EC';
  key_size: number;
}

// A document reads each attribute separately, from the same buffer.
const views = new WeakMap<Buffer, { view: SigningRequestView | undefined }>();

/** The view of a stored request (DER); undefined when it is unreadable. */
export function signingRequestView(der: Buffer): SigningRequestView | undefined {
  const known = views.get(der) ?? { view: read(der) };
  views.set(der, known);
  return known.view;
}

function requestBytes(text: string): Buffer {
  const unreadable = new AppError('invalid_asn1', 400, 'it holds no certificate request');
  if (isPem(Buffer.from(text))) {
    const requests = decodePem(text).filter(({ label }) => LABEL.test(label));
    if (requests.length !== 1 || requests[0] === undefined) throw unreadable;
    return requests[0].der;
  }
  const der = decodeBase64(text.replace(/\s+/g, ''));
  if (der === undefined) throw unreadable;
  return der;
}

function read(der: Buffer): SigningRequestView | undefined {
  try {
    return viewOf(parseCsr(der));
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

function viewOf({ publicKey, subjectAltNames }: ParsedCsr): SigningRequestView {
  const { type, bits } = describeKey(publicKey);
  const subject_alt_names = subjectAltNames.map(formatAlternativeName);
  return { subject_alt_names, key_type: type, key_size: bits };
}
