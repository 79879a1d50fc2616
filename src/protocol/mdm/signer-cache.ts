import { hash, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { importPublicKey, type VerificationKey, verificationKey } from '../../crypto/keys/keys.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';

const MAX_SIGNERS = 100_000;
/** Keys that OpenSSL has read take 3 KB each, ten times what the rest of a signer takes. */
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

/** A decision about a signer's issuer, valid for one epoch of the trust store. */
export interface CachedTrust {
  readonly epoch: number;
  readonly issuerTrust: IssuerTrust | undefined;
}

/** A certificate that has signed a message, with what verifying the next one needs. */
export interface VerifiedSigner {
  /** SHA-256 of the certificate, 32 bytes. */
  readonly fingerprint: Buffer;
  /** The whole certificate, parsed when it is asked for. */
  readonly certificate: ParsedCertificate;
  readonly validity: Validity;
  readonly serial: Buffer;
  readonly issuerRaw: Buffer;
  readonly subjectKeyId: Buffer | undefined;
  readonly publicKey: VerificationKey;
  trust?: CachedTrust | undefined;
}

export interface FoundSigner {
  readonly key: string;
  readonly signer: VerifiedSigner;
  /** Whether it signed a message in this process before. */
  readonly isKnown: boolean;
}

/**
 * What is known of signers by certificate, so that a known one costs no parsing and no search for its issuer.
 * One for each process. A signer takes 0.4 KB, and another 3 KB for its key if it signed twice among the last
 * 10,000: keys that are replaced before they are used again would only fill the memory.
 */
export class SignerCache {
  readonly #signers: LRUCache<string, SignerFacts>;
  readonly #recent: LRUCache<SignerFacts, true>;

  constructor(max = MAX_SIGNERS, maxKeys = MAX_KEYS) {
    this.#signers = new LRUCache({ max });
    this.#recent = new LRUCache({
      max: maxKeys,
      dispose: (_value, facts) => facts.forgetKey(),
    });
  }

  get size(): number {
    return this.#signers.size;
  }

  /** The signer of a certificate's DER, read if it is not known. Throws `invalid_certificate`. */
  find(der: Buffer): FoundSigner {
    const fingerprint = hash('sha256', der, 'buffer');
    // Half as long as in hexadecimal digits.
    const key = fingerprint.toString('latin1');
    const sent = { der, fingerprint };
    const known = this.#signers.get(key);
    if (known !== undefined) {
      if (this.#recent.get(known) === true) known.keepKey();
      else this.#recent.set(known, true);
      return { key, signer: new SentSigner(sent, known), isKnown: true };
    }
    const certificate = parseCertificate(der);
    const signer = new SentSigner(sent, new SignerFacts(certificate), certificate);
    return { key, signer, isKnown: false };
  }

  /** Keeps what is known of a signer that `find` returned. */
  keep(key: string, signer: VerifiedSigner): void {
    if (!(signer instanceof SentSigner) || this.#signers.get(key) === signer.facts) return;
    this.#signers.set(key, signer.facts);
    this.#recent.set(signer.facts, true);
  }
}

/** What is kept of a certificate: no octets of it, since each message of its owner brings them. */
class SignerFacts {
  readonly notBefore: number;
  readonly notAfter: number;
  readonly serial: Span;
  readonly issuer: Span;
  readonly subjectKeyId: Span | undefined;
  readonly publicKeyRaw: Span;
  trust: CachedTrust | undefined;
  #publicKey: KeyObject | undefined;
  #keepsKey = false;
  #isKeyChecked = false;

  constructor(certificate: ParsedCertificate) {
    const { der, serial, issuerRaw, subjectKeyId, publicKeyRaw } = certificate;
    this.notBefore = certificate.notBefore.getTime();
    this.notAfter = certificate.notAfter.getTime();
    this.serial = spanOf(serial, der);
    this.issuer = spanOf(issuerRaw, der);
    this.subjectKeyId = subjectKeyId && spanOf(subjectKeyId, der);
    this.publicKeyRaw = spanOf(publicKeyRaw, der);
  }

  /** Read for this use only, but for a signer that signs often. */
  publicKey(der: Buffer): VerificationKey {
    if (this.#publicKey !== undefined) return this.#publicKey;
    const raw = partOf(der, this.publicKeyRaw);
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
}

/** A certificate as it came with a message, and what is known of it. */
class SentSigner implements VerifiedSigner {
  readonly fingerprint: Buffer;
  readonly facts: SignerFacts;
  readonly #der: Buffer;
  #certificate: ParsedCertificate | undefined;

  constructor(
    { der, fingerprint }: Pick<ParsedCertificate, 'der' | 'fingerprint'>,
    facts: SignerFacts,
    certificate?: ParsedCertificate,
  ) {
    this.fingerprint = fingerprint;
    this.#der = der;
    this.facts = facts;
    this.#certificate = certificate;
  }

  get certificate(): ParsedCertificate {
    this.#certificate ??= parseCertificate(this.#der);
    return this.#certificate;
  }

  get validity(): Validity {
    return { notBefore: new Date(this.facts.notBefore), notAfter: new Date(this.facts.notAfter) };
  }

  get serial(): Buffer {
    return partOf(this.#der, this.facts.serial);
  }

  get issuerRaw(): Buffer {
    return partOf(this.#der, this.facts.issuer);
  }

  get subjectKeyId(): Buffer | undefined {
    const { subjectKeyId } = this.facts;
    return subjectKeyId === undefined ? undefined : partOf(this.#der, subjectKeyId);
  }

  get publicKey(): VerificationKey {
    return this.facts.publicKey(this.#der);
  }

  get trust(): CachedTrust | undefined {
    return this.facts.trust;
  }

  set trust(trust: CachedTrust | undefined) {
    this.facts.trust = trust;
  }
}

/** Where a part of a certificate is in its DER: its offset and its length in one number. */
type Span = number;

/** The largest certificate has fewer octets. */
const SPAN_BASE = 0x2_0000;

function spanOf(part: Buffer, der: Buffer): Span {
  return (part.byteOffset - der.byteOffset) * SPAN_BASE + part.length;
}

function partOf(der: Buffer, span: Span): Buffer {
  const start = Math.floor(span / SPAN_BASE);
  return der.subarray(start, start + (span % SPAN_BASE));
}
