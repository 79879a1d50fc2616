import { describeKey } from '../../crypto/keys/keys.js';
import { type ParsedCsr, parseCsr } from '../../crypto/x509/csr.js';
import { AppError } from '../../errors.js';
import { formatAlternativeName } from '../certificates/alternative-names.js';

/** What a request says beyond the columns that are filtered and sorted by. */
export interface SigningRequestView {
  subject_alt_names: string[];
  key_type: 'RSA' | 'EC';
  key_size: number;
}

function viewOf({ publicKey, subjectAltNames }: ParsedCsr): SigningRequestView {
  const { type, bits } = describeKey(publicKey);
  const subject_alt_names = subjectAltNames.map(formatAlternativeName);
  return { subject_alt_names, key_type: type, key_size: bits };
}

function read(der: Buffer): SigningRequestView | undefined {
  try {
    return viewOf(parseCsr(der));
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

// One document asks for each attribute by itself, of the same buffer.
const views = new WeakMap<Buffer, { view: SigningRequestView | undefined }>();

/** Of a stored request (DER); undefined when it can't be read. */
export function signingRequestView(der: Buffer): SigningRequestView | undefined {
  const known = views.get(der) ?? { view: read(der) };
  views.set(der, known);
  return known.view;
}
