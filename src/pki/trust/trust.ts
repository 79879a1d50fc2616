import { Oid } from '../../crypto/asn1/oids.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import { findCertificatePath, isValidAt } from '../../crypto/x509/certificate-path.js';
import { readScepConfiguration } from '../../db/admin/settings-repository.js';
import type { Database } from '../../db/connection/database.js';
import { type AuthorityRow, listAuthorities } from '../../db/pki/authority-repository.js';
import type { IssuerTrust, Validity, VerifiedSigner } from '../../protocol/mdm/signer-cache.js';
import { isExternalAuthority } from '../authority/external-authority.js';

/** A client can send many; each may cost a signature check at every level. */
const MAX_CHAIN = 8;

/** A certificate that signed a message, with the cached decision about its issuer. */
export interface TrustSubject extends Pick<VerifiedSigner, 'certificate' | 'trust'> {
  /** The certificate's own, where reading it again would cost a request. */
  readonly validity?: Validity;
  /** Intermediates that were sent with it. */
  readonly chain?: readonly ParsedCertificate[];
}

export interface TrustDeps {
  db: Database;
  /** CAs that are not in the database. */
  extraAnchors?: readonly ParsedCertificate[];
  /** Milliseconds for which an expired certificate is still accepted; 0 if absent. */
  identityGrace?: number;
  now?: () => Date;
}

interface TrustAnchors {
  anchors: readonly ParsedCertificate[];
  chain: readonly ParsedCertificate[];
  now: Date;
}

/** Decides which certificates of devices are trusted. Open it with `createTrust`. */
export class Trust {
  /** Grows whenever an earlier decision may no longer hold. */
  epoch = 0;
  /** The trusted CAs: those made here, then those of an external SCEP server while it is in use. */
  anchors: readonly ParsedCertificate[] = [];
  #others: readonly ParsedCertificate[] = [];
  #changesAt = Number.POSITIVE_INFINITY;
  #loading: Promise<void> = Promise.resolve();
  readonly #deps: TrustDeps;
  readonly #now: () => Date;

  constructor(deps: TrustDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => new Date());
  }

  /**
   * Reads the CAs again. Call it after a change to CAs or to the SCEP configuration. Calls run one
   * by one, so that an earlier answer does not replace a later one.
   */
  reload(): Promise<void> {
    this.#loading = this.#loading.catch(() => undefined).then(() => this.#load());
    return this.#loading;
  }

  async #load(): Promise<void> {
    const { db, extraAnchors = [] } = this.#deps;
    const read = await readAuthorities(db);
    const anchors = [...read.anchors, ...extraAnchors];
    if (isSameList(anchors, this.anchors) && isSameList(read.others, this.#others)) return;
    this.anchors = anchors;
    this.#others = read.others;
    this.#beginEpoch(this.#now());
  }

  /**
   * Whether a device may identify itself by this certificate: it is valid now, for clients, and
   * issued by a trusted CA, directly or through the intermediates. Revocation and pinning are
   * checked in the database.
   */
  isTrusted(
    certificate: ParsedCertificate,
    chain: ParsedCertificate[] = [],
    now: Date = this.#now(),
  ): boolean {
    if (chain.length > MAX_CHAIN) return false;
    return issuerOf(certificate, { anchors: this.anchors, chain, now }) !== undefined;
  }

  /**
   * The trusted CA that issued the signer's certificate; the decision is cached in `signer` for an
   * epoch. Besides the anchors, every uploaded CA counts, so that devices stay enrolled when new
   * ones are sent to another CA. An expired certificate is checked as of its end, during the grace
   * period.
   */
  issuerTrustOf(signer: TrustSubject): IssuerTrust | undefined {
    const now = this.#now();
    if (now.getTime() > this.#changesAt) this.#beginEpoch(now);
    // Not cached: a certificate that is not valid yet may be trusted later in the same epoch.
    if (!isValidAt(signer.validity ?? signer.certificate, now))
      return this.#trustAfterEnd(signer, now);
    if (signer.trust?.epoch !== this.epoch) {
      const issuerTrust = this.#findIssuerTrust(signer, now);
      signer.trust = { epoch: this.epoch, issuerTrust };
    }
    return signer.trust.issuerTrust;
  }

  /** Not cached either: there are few, and each is soon renewed or beyond its grace. */
  #trustAfterEnd(signer: TrustSubject, now: Date): IssuerTrust | undefined {
    const { identityGrace = 0 } = this.#deps;
    const end = signer.certificate.notAfter;
    const age = now.getTime() - end.getTime();
    if (age <= 0 || age > identityGrace) return undefined;
    const issuerTrust = this.#findIssuerTrust(signer, end);
    return issuerTrust && { ...issuerTrust, mayEnroll: false, isExpired: true };
  }

  #findIssuerTrust({ certificate, chain = [] }: TrustSubject, now: Date): IssuerTrust | undefined {
    const anchor = issuerOf(certificate, { anchors: this.anchors, chain, now });
    if (anchor) return { issuer: anchor.fingerprint, mayEnroll: true, isExpired: false };
    const other = issuerOf(certificate, { anchors: this.#others, chain, now });
    return other && { issuer: other.fingerprint, mayEnroll: false, isExpired: false };
  }

  /** The CA that issued the certificate, if the clock is before the start of that CA. */
  unstartedIssuerOf({ certificate, chain = [] }: TrustSubject): ParsedCertificate | undefined {
    const now = this.#now();
    const known = [...this.anchors, ...this.#others];
    const anchors = known.filter(({ notBefore }) => notBefore > now);
    if (anchors.length === 0 || !maySignMessages(certificate)) return undefined;
    const dates = { at: now, ignoreDates: 'all' } as const;
    return findCertificatePath(certificate, { anchors, intermediates: chain, ...dates })?.at(-1);
  }

  #beginEpoch(now: Date): void {
    this.epoch += 1;
    this.#changesAt = nextChange([...this.anchors, ...this.#others], now);
  }
}

/** Reads the trusted CAs. */
export async function createTrust(deps: TrustDeps): Promise<Trust> {
  const trust = new Trust(deps);
  await trust.reload();
  return trust;
}

/** A CA whose key is not stored enrolls devices only while its SCEP server is configured. */
async function readAuthorities({ knex }: Database) {
  const [rows, scep] = await Promise.all([listAuthorities(knex), readScepConfiguration(knex)]);
  const isInUse = (row: AuthorityRow) => hasKey(row) || isExternalAuthority(row.der, scep);
  const [inUse, others] = [rows.filter(isInUse), rows.filter((row) => !isInUse(row))];
  const anchors = [...inUse.filter(hasKey), ...inUse.filter((row) => !hasKey(row))];
  return { anchors: anchors.map(parseRow), others: others.map(parseRow) };
}

function hasKey({ sealed_pkcs8 }: AuthorityRow): boolean {
  return sealed_pkcs8 !== null;
}

function parseRow({ der }: AuthorityRow): ParsedCertificate {
  return parseCertificate(der);
}

function isSameList(one: readonly ParsedCertificate[], other: readonly ParsedCertificate[]) {
  const isSame = (certificate: ParsedCertificate, index: number) =>
    other[index]?.fingerprint.equals(certificate.fingerprint) === true;
  return one.length === other.length && one.every(isSame);
}

/** The anchor that issued the certificate for a client; undefined when none did. */
function issuerOf(certificate: ParsedCertificate, trusted: TrustAnchors) {
  if (!maySignMessages(certificate)) return undefined;
  const { anchors, chain: intermediates, now: at } = trusted;
  const purpose = Oid.clientAuth;
  return findCertificatePath(certificate, { anchors, intermediates, at, purpose })?.at(-1);
}

/**
 * RFC 5280 4.2.1.3; the certificate of a CA is never a device's. Pins and revocations are stored by
 * fingerprint, so a certificate that anyone can copy with another fingerprint is refused.
 */
function maySignMessages({ isCa, keyUsage, hasOneAlgorithmForm }: ParsedCertificate): boolean {
  if (isCa || !hasOneAlgorithmForm) return false;
  return keyUsage === undefined || keyUsage.includes('digitalSignature');
}

/** The next time at which a CA becomes valid or expires. */
function nextChange(anchors: readonly ParsedCertificate[], now: Date): number {
  const times = anchors.flatMap(({ notBefore, notAfter }) => [notBefore, notAfter]);
  return Math.min(...times.map((time) => time.getTime()).filter((time) => time > now.getTime()));
}
