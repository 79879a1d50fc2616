import { decodeBase64 } from '../../crypto/asn1/base64.js';
import { decodePem, isPem } from '../../crypto/asn1/pem.js';
import { type ParsedCsr, parseCsr } from '../../crypto/x509/csr.js';
import { AppError } from '../../errors.js';
import { attributeFault, refusal } from '../certificates/faults.js';

const LABEL = /^(NEW )?CERTIFICATE REQUEST$/;

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

/** The one request in PEM, or in DER as base64. AppError 422 naming the attribute. */
export function readRequestText(text: string): ParsedCsr {
  try {
    return parseCsr(requestBytes(text));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw refusal([attributeFault('pem_request', `pem_request: ${error.message}`, error.code)]);
  }
}
