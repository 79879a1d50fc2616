import { decodeBase64 } from '../../crypto/asn1/base64.js';
import {
  isReferenceTo,
  parseSignedData,
  readEmbedded,
  type SignedData,
  signingTime,
  verifySigners,
} from '../../crypto/cms/cms-signed-data.js';
import { AppError } from '../../errors.js';
import type { FoundSigner, SignerCache, VerifiedSigner } from './signer-cache.js';

const MAX_HEADER_LENGTH = 16_384;

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
      verifySigners(this.#message, [signer], body);
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
    isReferenceTo(info.signer, signer),
  );
  if (found === undefined) throw new Error('no certificate of the signer');
  return found;
}

/** One message for every fault, the reason as cause. */
function invalidSignature(cause: unknown): AppError {
  return new AppError('invalid_signature', 400, 'the message signature is not valid', { cause });
}
