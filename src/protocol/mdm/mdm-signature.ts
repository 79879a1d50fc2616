import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { decodeBase64 } from '../../crypto/asn1/base64.js';
import {
  isReferenceTo,
  parseSignedData,
  readEmbedded,
  type SignedData,
  signingTime,
  verifySigners,
} from '../../crypto/cms/cms-signed-data.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import { AppError } from '../../errors.js';

const MAX_HEADER_LENGTH = 16_384;
const MAX_CACHED_SIGNERS = 10_000;

/** The trusted CA that issued a certificate, as decided by `pki/trust`. */
export interface IssuerTrust {
  /** SHA-256 of the CA's certificate, 32 bytes. */
  readonly issuer: Buffer;
  /** Whether its certificates enroll devices; if not, they only identify enrolled ones. */
  readonly mayEnroll: boolean;
  /**
   * The certificate has expired, but is accepted for the grace period so that it can be renewed.
   */
  readonly isExpired: boolean;
}

/** A certificate that has signed a message. */
export interface VerifiedSigner {
  /** SHA-256 of the certificate, 32 bytes. */
  readonly fingerprint: Buffer;
  readonly certificate: ParsedCertificate;
  /** The cached decision about its issuer, valid for one epoch of the trust store. */
  trust?: { epoch: number; issuerTrust: IssuerTrust | undefined };
}

export interface FoundSigner {
  readonly key: string;
  readonly signer: VerifiedSigner;
  /** Whether it signed a message in this process before. */
  readonly isKnown: boolean;
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
  find(der: Buffer): FoundSigner {
    const key = hash('sha256', der, 'hex');
    const known = this.#signers.get(key);
    if (known !== undefined) return { key, signer: known, isKnown: true };
    // A copy: a view would keep the whole message alive.
    const certificate = parseCertificate(Buffer.from(der));
    const signer = { fingerprint: certificate.fingerprint, certificate };
    return { key, signer, isKnown: false };
  }

  keep(key: string, signer: VerifiedSigner): void {
    this.#signers.set(key, signer);
  }
}

/** An `Mdm-Signature` header that was decoded, once for each request. */
export class MdmSignature {
  readonly #message: SignedData;
  readonly #found: FoundSigner;
  readonly #cache: SignerCache;

  private constructor(message: SignedData, found: FoundSigner, cache: SignerCache) {
    this.#message = message;
    this.#found = found;
    this.#cache = cache;
  }

  /**
   * Decodes base64 of a CMS SignedData (DER or BER) with one signer whose certificate is embedded.
   * Nothing is verified: certificates are public, so anybody can send one.
   * @throws AppError `invalid_signature` (400)
   */
  static read(header: string, cache: SignerCache): MdmSignature {
    try {
      if (header.length > MAX_HEADER_LENGTH) throw new Error('header too long');
      const der = decodeBase64(header);
      if (der === undefined) throw new Error('header is not base64');
      const message = parseSignedData(der);
      return new MdmSignature(message, findSigner(message, cache), cache);
    } catch (cause) {
      throw invalidSignature(cause);
    }
  }

  /** Who is claimed to have signed. */
  get signer(): VerifiedSigner {
    return this.#found.signer;
  }

  /** Whether the claimed signer has signed a message in this process before. */
  get isOfKnownSigner(): boolean {
    return this.#found.isKnown;
  }

  /** The time that the signer claims; undefined when absent or malformed. */
  get signingTime(): Date | undefined {
    const [signer] = this.#message.signers;
    return signer && signingTime(signer);
  }

  /**
   * Verifies the signature over the exact bytes of the body. Whether the certificate is trusted is
   * not decided here; only signers whose signature was right enter the cache.
   * @throws AppError `invalid_signature` (400)
   */
  verify(body: Buffer): VerifiedSigner {
    const { key, signer } = this.#found;
    try {
      verifySigners(this.#message, [signer.certificate], body);
    } catch (cause) {
      throw invalidSignature(cause);
    }
    this.#cache.keep(key, signer);
    return signer;
  }
}

function findSigner(message: SignedData, cache: SignerCache): FoundSigner {
  const [info, ...others] = message.signers;
  if (info === undefined || others.length > 0) throw new Error('not exactly one signer');
  const found = readEmbedded(message, (der) => cache.find(der)).find(({ signer }) =>
    isReferenceTo(info.signer, signer.certificate),
  );
  if (found === undefined) throw new Error('no certificate of the signer');
  return found;
}

/** One message for every fault, the reason as cause. */
function invalidSignature(cause: unknown): AppError {
  return new AppError('invalid_signature', 400, 'the message signature is not valid', { cause });
}
