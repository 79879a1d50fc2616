import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { decodeBase64 } from '../crypto/base64.js';
import { type ParsedCertificate, parseCertificate } from '../crypto/certificate.js';
import { verifySignedData } from '../crypto/cms-signed-data.js';
import { AppError } from '../errors.js';

const MAX_HEADER_LENGTH = 16_384;
const MAX_CACHED_SIGNERS = 10_000;

/** A certificate that has signed a message, and what was decided about it. */
export interface VerifiedSigner {
  /** SHA-256 of the certificate, 32 bytes. */
  readonly fingerprint: Buffer;
  readonly certificate: ParsedCertificate;
  /** Kept here by the trust decision, valid while the trust store's epoch is the same. */
  trust?: {
    epoch: number;
    voucher: { issuer: Buffer; mayEnroll: boolean; isExpired: boolean } | undefined;
  };
}

/** Signers by certificate, so that a known one costs no parsing. One for each process. */
export class SignerCache {
  readonly #signers: LRUCache<string, VerifiedSigner>;

  constructor(max = MAX_CACHED_SIGNERS) {
    this.#signers = new LRUCache({ max });
  }

  get size(): number {
    return this.#signers.size;
  }

  /** The signer of a certificate's DER, read if it is not known. Throws `invalid_certificate`. */
  find(der: Buffer): { key: string; signer: VerifiedSigner } {
    const key = hash('sha256', der, 'hex');
    const known = this.#signers.get(key);
    if (known !== undefined) return { key, signer: known };
    // A copy: a view would keep the whole message alive.
    const certificate = parseCertificate(Buffer.from(der));
    return { key, signer: { fingerprint: certificate.fingerprint, certificate } };
  }

  keep(key: string, signer: VerifiedSigner): void {
    this.#signers.set(key, signer);
  }
}

function verify(header: string, body: Buffer, cache: SignerCache): VerifiedSigner {
  if (header.length > MAX_HEADER_LENGTH) throw new Error('header too long');
  const der = decodeBase64(header);
  if (der === undefined) throw new Error('header is not base64');
  const found = new Map<ParsedCertificate, { key: string; signer: VerifiedSigner }>();
  const readCertificate = (bytes: Buffer): ParsedCertificate => {
    const entry = cache.find(bytes);
    found.set(entry.signer.certificate, entry);
    return entry.signer.certificate;
  };
  const { signers } = verifySignedData({ der, content: body, readCertificate });
  const entry = found.get(signers[0].certificate);
  if (signers.length !== 1 || entry === undefined) throw new Error('not exactly one signer');
  cache.keep(entry.key, entry.signer);
  return entry.signer;
}

/**
 * Verifies the `Mdm-Signature` header: base64 of a CMS SignedData (DER or BER) over the exact bytes
 * of the body, with one signer whose certificate is embedded. Whether that certificate is trusted
 * is not decided here; only signers whose signature was right enter the cache.
 * @throws AppError `invalid_signature` (400), one message for every fault, the reason as cause
 */
export function verifyMdmSignature(
  header: string,
  body: Buffer,
  cache: SignerCache,
): VerifiedSigner {
  try {
    return verify(header, body, cache);
  } catch (cause) {
    throw new AppError('invalid_signature', 400, 'the message signature is not valid', { cause });
  }
}
