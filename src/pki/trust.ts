import { type ParsedCertificate, parseCertificate } from '../crypto/certificate.js';
import { findCertificatePath, isValidAt } from '../crypto/certificate-path.js';
import { Oid } from '../crypto/oids.js';
import { type AuthorityRow, listAuthorities } from '../db/certificate-repository.js';
import type { Database } from '../db/database.js';
import { readScepConfiguration } from '../db/settings-repository.js';
import { isExternalAuthority } from './external-authority.js';

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
  /** The CAs believed in: ours, then those of an external SCEP server while it is in use. */
  readonly anchors: readonly ParsedCertificate[];
  /**
   * Whether a device may identify itself by this certificate: it is valid now, meant for clients,
   * and a trusted CA issued it, through the intermediates given if need be. Revocation and pinning
   * are the database's to judge.
   */
  isTrusted(certificate: ParsedCertificate, chain?: ParsedCertificate[], now?: Date): boolean;
  /** The same for a signer that is kept: decided once in an epoch. */
  isTrustedSigner(signer: TrustSubject): boolean;
  /** Reads the CAs again, after one was added or removed, or the SCEP configuration changed. */
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

/** RFC 5280 4.2.1.3; a CA never poses as a device. */
function maySignMessages({ isCa, keyUsage }: ParsedCertificate): boolean {
  return !isCa && (keyUsage === undefined || keyUsage.includes('digitalSignature'));
}

// SHA-1 can be made to collide, so it proves nothing about who issued a certificate.
function isIssuedBySha1({ signatureAlgorithm }: ParsedCertificate): boolean {
  return signatureAlgorithm === Oid.sha1WithRsa || signatureAlgorithm === Oid.ecdsaWithSha1;
}

function isIssuedForClients(certificate: ParsedCertificate, believed: Believed): boolean {
  if (!maySignMessages(certificate)) return false;
  const { anchors, chain: intermediates, now: at } = believed;
  const purpose = Oid.clientAuth;
  const path = findCertificatePath(certificate, { anchors, intermediates, at, purpose });
  return path !== undefined && !path.slice(0, -1).some(isIssuedBySha1);
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
  #loading: Promise<void> = Promise.resolve();
  readonly #deps: TrustDeps;
  readonly #now: () => Date;

  constructor(deps: TrustDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => new Date());
  }

  /** One after the other: an earlier answer must not replace a later one. */
  reload(): Promise<void> {
    this.#loading = this.#loading.catch(() => undefined).then(() => this.#load());
    return this.#loading;
  }

  async #load(): Promise<void> {
    const { db, extraAnchors = [] } = this.#deps;
    const anchors = [...(await readAnchors(db)), ...extraAnchors];
    if (isSameList(anchors, this.anchors)) return;
    this.anchors = anchors;
    this.#beginEpoch(this.#now());
  }

  isTrusted(
    certificate: ParsedCertificate,
    chain: ParsedCertificate[] = [],
    now: Date = this.#now(),
  ): boolean {
    if (chain.length > MAX_CHAIN) return false;
    return isIssuedForClients(certificate, { anchors: this.anchors, chain, now });
  }

  isTrustedSigner(signer: TrustSubject): boolean {
    const now = this.#now();
    if (now.getTime() > this.#changesAt) this.#beginEpoch(now);
    // Not remembered: a certificate of tomorrow is no less trusted tomorrow.
    if (!isValidAt(signer.certificate, now)) return false;
    if (signer.trust?.epoch !== this.epoch) {
      const believed = { anchors: this.anchors, chain: [], now };
      const ok = isIssuedForClients(signer.certificate, believed);
      signer.trust = { epoch: this.epoch, ok };
    }
    return signer.trust.ok;
  }

  #beginEpoch(now: Date): void {
    this.epoch += 1;
    this.#changesAt = nextChange(this.anchors, now);
  }
}

function isOurs({ sealed_pkcs8 }: AuthorityRow): boolean {
  return sealed_pkcs8 !== null;
}

/** A CA whose key is not here vouches for devices only while they are sent to its SCEP server. */
async function readAnchors({ knex }: Database): Promise<ParsedCertificate[]> {
  const [rows, scep] = await Promise.all([listAuthorities(knex), readScepConfiguration(knex)]);
  const external = rows.filter((row) => !isOurs(row) && isExternalAuthority(row.der, scep));
  return [...rows.filter(isOurs), ...external].map(({ der }) => parseCertificate(der));
}

function isSameList(one: readonly ParsedCertificate[], other: readonly ParsedCertificate[]) {
  const isSame = (certificate: ParsedCertificate, index: number) =>
    other[index]?.fingerprint.equals(certificate.fingerprint) === true;
  return one.length === other.length && one.every(isSame);
}

/** Reads the CAs that are trusted: our own, and those given. */
export async function createTrust(deps: TrustDeps): Promise<Trust> {
  const trust = new AnchoredTrust(deps);
  await trust.reload();
  return trust;
}
