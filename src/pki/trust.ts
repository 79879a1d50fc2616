import { verifySignature } from '../crypto/algorithms.js';
import { type ParsedCertificate, parseCertificate } from '../crypto/certificate.js';
import { Oid } from '../crypto/oids.js';
import { listAuthorities } from '../db/certificate-repository.js';
import type { Database } from '../db/database.js';
import { AppError } from '../errors.js';

/** Between a device's certificate and the CA that is trusted. */
const MAX_INTERMEDIATES = 3;
/** A client can send many; each may cost a signature check at every level. */
const MAX_CHAIN = 8;

/** A certificate that signed a message, with room for what is decided about it. */
export interface TrustSubject {
  readonly certificate: ParsedCertificate;
  trust?: { epoch: number; ok: boolean };
}

export interface Trust {
  /** Grows whenever an earlier decision may no longer hold. */
  readonly epoch: number;
  /** The CAs believed in, ours first. */
  readonly anchors: readonly ParsedCertificate[];
  /**
   * Whether a device may identify itself by this certificate: it is valid now, meant for clients,
   * and a trusted CA issued it, through the intermediates given if need be. Revocation and pinning
   * are the database's to judge.
   */
  isTrusted(certificate: ParsedCertificate, chain?: ParsedCertificate[], now?: Date): boolean;
  /** The same for a signer that is kept: decided once in an epoch. */
  isTrustedSigner(signer: TrustSubject): boolean;
  /** Reads the CAs again, after one was added or removed. */
  reload(): Promise<void>;
}

export interface TrustDeps {
  db: Database;
  /** CAs that are not in the database. */
  extraAnchors?: readonly ParsedCertificate[];
  now?: () => Date;
}

interface Believed {
  anchors: readonly ParsedCertificate[];
  chain: readonly ParsedCertificate[];
  now: Date;
}

function isInTime({ notBefore, notAfter }: ParsedCertificate, now: Date): boolean {
  return notBefore <= now && now <= notAfter;
}

function mayIssue(issuer: ParsedCertificate, intermediatesBelow: number): boolean {
  const { isCa, keyUsage, pathLength, unknownCriticalExtensions } = issuer;
  if (!isCa || unknownCriticalExtensions.length > 0) return false;
  if (keyUsage !== undefined && !keyUsage.includes('keyCertSign')) return false;
  return pathLength === undefined || intermediatesBelow <= pathLength;
}

// SHA-1 can be made to collide, so it proves nothing about who issued a certificate.
function isSignedBy(certificate: ParsedCertificate, issuer: ParsedCertificate): boolean {
  const { signatureAlgorithm: algorithm, tbs: signed, signature } = certificate;
  if (algorithm === Oid.sha1WithRsa || algorithm === Oid.ecdsaWithSha1) return false;
  try {
    return verifySignature({ algorithm, publicKey: issuer.publicKey, signed, signature });
  } catch (error) {
    // A kind of key that can't be read vouches for nobody.
    if (error instanceof AppError) return false;
    throw error;
  }
}

function hasVoucher(certificate: ParsedCertificate, believed: Believed, below: number): boolean {
  const vouches = (issuer: ParsedCertificate) =>
    issuer.subjectRaw.equals(certificate.issuerRaw) &&
    isInTime(issuer, believed.now) &&
    mayIssue(issuer, below) &&
    isSignedBy(certificate, issuer);
  if (believed.anchors.some(vouches)) return true;
  if (below === MAX_INTERMEDIATES) return false;
  return believed.chain.some(
    (issuer) => vouches(issuer) && hasVoucher(issuer, believed, below + 1),
  );
}

/** RFC 5280 4.2.1.3 and 4.2.1.12; a CA never poses as a device. */
function isForClients(certificate: ParsedCertificate): boolean {
  const { isCa, keyUsage, extendedKeyUsage, unknownCriticalExtensions } = certificate;
  if (isCa || unknownCriticalExtensions.length > 0) return false;
  if (keyUsage !== undefined && !keyUsage.includes('digitalSignature')) return false;
  if (extendedKeyUsage.length === 0) return true;
  return [Oid.clientAuth, Oid.anyExtendedKeyUsage].some((oid) => extendedKeyUsage.includes(oid));
}

function isIssuedForClients(certificate: ParsedCertificate, believed: Believed): boolean {
  return isForClients(certificate) && hasVoucher(certificate, believed, 0);
}

/** The next time at which one of the CAs begins or ends to be valid. */
function nextChange(anchors: readonly ParsedCertificate[], now: Date): number {
  const times = anchors.flatMap(({ notBefore, notAfter }) => [notBefore, notAfter]);
  return Math.min(...times.map((time) => time.getTime()).filter((time) => time > now.getTime()));
}

class AnchoredTrust implements Trust {
  epoch = 0;
  anchors: readonly ParsedCertificate[] = [];
  #changesAt = Number.POSITIVE_INFINITY;
  readonly #deps: TrustDeps;
  readonly #now: () => Date;

  constructor(deps: TrustDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => new Date());
  }

  async reload(): Promise<void> {
    const { db, extraAnchors = [] } = this.#deps;
    const rows = await listAuthorities(db.knex);
    this.anchors = [...rows.map(({ der }) => parseCertificate(der)), ...extraAnchors];
    this.#beginEpoch(this.#now());
  }

  isTrusted(
    certificate: ParsedCertificate,
    chain: ParsedCertificate[] = [],
    now: Date = this.#now(),
  ): boolean {
    if (chain.length > MAX_CHAIN || !isInTime(certificate, now)) return false;
    return isIssuedForClients(certificate, { anchors: this.anchors, chain, now });
  }

  isTrustedSigner(signer: TrustSubject): boolean {
    const now = this.#now();
    if (now.getTime() > this.#changesAt) this.#beginEpoch(now);
    if (signer.trust?.epoch !== this.epoch) {
      const believed = { anchors: this.anchors, chain: [], now };
      const ok = isIssuedForClients(signer.certificate, believed);
      signer.trust = { epoch: this.epoch, ok };
    }
    return signer.trust.ok && isInTime(signer.certificate, now);
  }

  #beginEpoch(now: Date): void {
    this.epoch += 1;
    this.#changesAt = nextChange(this.anchors, now);
  }
}

/** Reads the CAs that are trusted: our own, and those given. */
export async function createTrust(deps: TrustDeps): Promise<Trust> {
  const trust = new AnchoredTrust(deps);
  await trust.reload();
  return trust;
}
