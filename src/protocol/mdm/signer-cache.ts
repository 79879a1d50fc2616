import { hash, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { importPublicKey, type VerificationKey, verificationKey } from '../../crypto/keys/keys.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';

const MAX_SIGNERS = 100_000;
/** Keys that OpenSSL has read take 3 KB each, twice what the rest of a signer takes. */
const MAX_KEYS = 10_000;

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

/** When a certificate is valid. */
export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** A certificate that has signed a message, with what verifying the next one needs. */
export interface VerifiedSigner {
  /** SHA-256 of the certificate, 32 bytes. */
  readonly fingerprint: Buffer;
  /** The whole certificate, parsed again when it is asked for. */
  readonly certificate: ParsedCertificate;
  readonly validity: Validity;
  readonly serial: Buffer;
  readonly issuerRaw: Buffer;
  readonly subjectKeyId: Buffer | undefined;
  readonly publicKey: VerificationKey;
  /** The cached decision about its issuer, valid for one epoch of the trust store. */
  trust?: { epoch: number; issuerTrust: IssuerTrust | undefined };
}

export interface FoundSigner {
  readonly key: string;
  readonly signer: VerifiedSigner;
  /** Whether it signed a message in this process before. */
  readonly isKnown: boolean;
}

/**
 * Signers by certificate, so that a known one costs no parsing and no search for its issuer. One for each
 * process. A signer takes 1.3 KB, and another 3 KB for its key if it signed twice among the last 10,000:
 * keys that are replaced before they are used again would only fill the memory.
 */
export class SignerCache {
  readonly #signers: LRUCache<string, CompactSigner>;
  readonly #recent: LRUCache<CompactSigner, true>;

  constructor(max = MAX_SIGNERS, maxKeys = MAX_KEYS) {
    this.#signers = new LRUCache({ max });
    this.#recent = new LRUCache({
      max: maxKeys,
      dispose: (_value, signer) => signer.forgetKey(),
    });
  }

  get size(): number {
    return this.#signers.size;
  }

  /** The signer of a certificate's DER, read if it is not known. Throws `invalid_certificate`. */
  find(der: Buffer): FoundSigner {
    const key = hash('sha256', der, 'hex');
    const known = this.#signers.get(key);
    if (known !== undefined) {
      if (this.#recent.get(known) === true) known.keepKey();
      else this.#recent.set(known, true);
      return { key, signer: known, isKnown: true };
    }
    // A copy: a view would keep the whole message alive.
    const signer = new CompactSigner(parseCertificate(Buffer.from(der)));
    return { key, signer, isKnown: false };
  }

  /** Keeps a signer that `find` returned. */
  keep(key: string, signer: VerifiedSigner): void {
    if (!(signer instanceof CompactSigner) || this.#signers.get(key) === signer) return;
    signer.forgetCertificate();
    this.#signers.set(key, signer);
    this.#recent.set(signer, true);
  }
}

/** Where a part of the certificate is in its DER. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Holds the DER and where its parts are, in place of the many objects of a parsed certificate. */
class CompactSigner implements VerifiedSigner {
  trust?: { epoch: number; issuerTrust: IssuerTrust | undefined };
  #der: Buffer;
  readonly #notBefore: number;
  readonly #notAfter: number;
  readonly #serial: Span;
  readonly #issuer: Span;
  readonly #subjectKeyId: Span | undefined;
  readonly #publicKeyRaw: Span;
  #certificate: ParsedCertificate | undefined;
  #publicKey: KeyObject | undefined;
  #keepsKey = false;
  #isKeyChecked = false;

  constructor(certificate: ParsedCertificate) {
    const { der, serial, issuerRaw, subjectKeyId, publicKeyRaw } = certificate;
    const span = (part: Buffer): Span => {
      const start = part.byteOffset - der.byteOffset;
      return { start, end: start + part.length };
    };
    this.#der = der;
    this.#notBefore = certificate.notBefore.getTime();
    this.#notAfter = certificate.notAfter.getTime();
    this.#serial = span(serial);
    this.#issuer = span(issuerRaw);
    this.#subjectKeyId = subjectKeyId && span(subjectKeyId);
    this.#publicKeyRaw = span(publicKeyRaw);
    this.#certificate = certificate;
  }

  get fingerprint(): Buffer {
    return hash('sha256', this.#der, 'buffer');
  }

  get certificate(): ParsedCertificate {
    return this.#certificate ?? parseCertificate(this.#der);
  }

  get validity(): Validity {
    return { notBefore: new Date(this.#notBefore), notAfter: new Date(this.#notAfter) };
  }

  get serial(): Buffer {
    return this.#part(this.#serial);
  }

  get issuerRaw(): Buffer {
    return this.#part(this.#issuer);
  }

  get subjectKeyId(): Buffer | undefined {
    return this.#subjectKeyId && this.#part(this.#subjectKeyId);
  }

  /** Read for this use only, but for a signer that signs often. */
  get publicKey(): VerificationKey {
    if (this.#publicKey !== undefined) return this.#publicKey;
    const raw = this.#part(this.#publicKeyRaw);
    if (this.#isKeyChecked && !this.#keepsKey) return verificationKey(raw);
    const key = importPublicKey(raw);
    this.#isKeyChecked = true;
    if (this.#keepsKey) this.#publicKey = key;
    return key;
  }

  /** Keeps the key in memory from its next use on. */
  keepKey(): void {
    this.#keepsKey = true;
  }

  forgetKey(): void {
    this.#keepsKey = false;
    this.#publicKey = undefined;
  }

  /** Copies the DER: a small buffer is part of a larger one, which would stay in memory. */
  forgetCertificate(): void {
    const own = Buffer.allocUnsafeSlow(this.#der.length);
    this.#der.copy(own);
    this.#der = own;
    this.#certificate = undefined;
  }

  #part({ start, end }: Span): Buffer {
    return this.#der.subarray(start, end);
  }
}
