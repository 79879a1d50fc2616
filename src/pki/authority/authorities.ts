import type { CertificateReference } from '../../crypto/cms/parse-signed-data.js';
import { isReferenceTo } from '../../crypto/cms/verify-signed-data.js';
import type { ParsedCertificate } from '../../crypto/x509/certificate.js';
import { isIssuedBy } from '../../crypto/x509/certificate-path.js';
import { type AuthorityRow, listOwnAuthorities } from '../../db/pki/authority-repository.js';
import {
  type AuthorityDeps,
  type CertificateAuthority,
  createAuthority,
  ensureCertificateAuthority,
} from './authority.js';
import { openAuthority } from './stored-authority.js';

/** The CAs made here. After a rotation the former ones still answer messages addressed to them. */
export class CertificateAuthorities {
  readonly #deps: AuthorityDeps;
  #current: CertificateAuthority;
  #all: readonly CertificateAuthority[] = [];
  #loading: Promise<void> = Promise.resolve();

  constructor(deps: AuthorityDeps, current: CertificateAuthority) {
    this.#deps = deps;
    this.#current = current;
  }

  /** The one that issues. */
  get current(): CertificateAuthority {
    return this.#current;
  }

  /** Newest first; with `revoked` also revoked ones, for their revocation lists. */
  all({ revoked = false }: { revoked?: boolean } = {}): readonly CertificateAuthority[] {
    return revoked ? this.#all : this.#all.filter(({ isRevoked }) => !isRevoked);
  }

  /** The CA that a message names as its recipient or signer; never a revoked one. */
  addressedBy(reference: CertificateReference): CertificateAuthority | undefined {
    return this.all().find(({ certificate }) => isReferenceTo(reference, certificate));
  }

  /** The CA that issued the certificate; never a revoked one. */
  issuerOf(certificate: ParsedCertificate): CertificateAuthority | undefined {
    return this.all().find((authority) => isIssuedBy(certificate, authority.certificate));
  }

  /**
   * Reads them again, after a rotation or revocation in this process or another. Calls run one by
   * one, so that an earlier answer does not replace a later one.
   */
  reload(): Promise<void> {
    this.#loading = this.#loading.catch(() => undefined).then(() => this.#load());
    return this.#loading;
  }

  async #load(): Promise<void> {
    const { logger } = this.#deps;
    const former = this.#current;
    const rows = await this.#readRows();
    const all = rows.flatMap((row) => this.#open(row) ?? []);
    const issuingId = rows.find(({ issues_identities: issues }) => issues)?.id;
    const current = all.find(({ id }) => id === issuingId);
    if (current === undefined) throw new Error('no certificate authority issues identities');
    this.#all = all;
    this.#current = current;
    if (current.id === former.id) return;
    const { subject } = current.certificate;
    logger.info({ subject, former: former.certificate.subject }, 'another CA issues identities');
  }

  /** If the issuing CA was revoked, a successor is made at once, unless another process did. */
  async #readRows(): Promise<AuthorityRow[]> {
    const { knex } = this.#deps.db;
    const rows = await listOwnAuthorities(knex);
    const isIssuing = ({ issues_identities, revoked_at }: AuthorityRow) =>
      issues_identities && revoked_at === null;
    if (rows.some(isIssuing)) return rows;
    await ensureCertificateAuthority(this.#deps);
    return await listOwnAuthorities(knex);
  }

  /** Opens only keys that are not open yet. */
  #open(row: AuthorityRow): CertificateAuthority | undefined {
    const isRevoked = row.revoked_at !== null;
    const known = this.#all.find(({ id, certificate }) => {
      return id === row.id && certificate.der.equals(row.der);
    });
    if (known !== undefined) return known.isRevoked === isRevoked ? known : { ...known, isRevoked };
    const stored = openAuthority(row, this.#deps.box);
    return stored && createAuthority(stored, this.#deps);
  }
}

/** Opens the CAs; the first one is made at the first start (see `ensureCertificateAuthority`). */
export async function createCertificateAuthorities(
  deps: AuthorityDeps,
): Promise<CertificateAuthorities> {
  const authorities = new CertificateAuthorities(deps, await ensureCertificateAuthority(deps));
  await authorities.reload();
  return authorities;
}
