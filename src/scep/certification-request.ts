import type { KeyObject } from 'node:crypto';
import type { Identity } from '../crypto/x509/certificate.js';
import { type ParsedCsr, parseCsr } from '../crypto/x509/csr.js';
import { AppError } from '../errors.js';
import { FailInfo, openPkiEnvelope, type PkiMessage } from '../protocol/scep/scep.js';
import { ScepRefusal } from './refusal.js';

const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 4096;
const CURVES = new Set(['prime256v1', 'secp384r1']);

/** The CSR in a message, with its signature and kind of key checked. */
export function readCertificationRequest(message: PkiMessage, recipient: Identity): ParsedCsr {
  const csr = openCsr(message, recipient);
  checkKey(csr.publicKey);
  return csr;
}

// One answer for every fault, whether of padding, cipher, ASN.1 or signature: a difference would be
// an oracle for RSA PKCS #1 v1.5.
function openCsr(message: PkiMessage, recipient: Identity): ParsedCsr {
  try {
    return parseCsr(openPkiEnvelope(message, recipient));
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    throw new ScepRefusal(FailInfo.badMessageCheck, 'no certification request in the envelope', {
      cause,
    });
  }
}

/** Accepts RSA of 2048 to 4096 bits, P-256 and P-384. */
function checkKey({ asymmetricKeyType, asymmetricKeyDetails: details }: KeyObject): void {
  const bits = details?.modulusLength ?? 0;
  const isGood =
    asymmetricKeyType === 'rsa'
      ? bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS
      : asymmetricKeyType === 'ec' && CURVES.has(details?.namedCurve ?? '');
  if (!isGood)
    throw new ScepRefusal(FailInfo.badAlg, 'the kind or size of the key is not accepted');
}
