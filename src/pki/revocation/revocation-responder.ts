import { parseCertificate } from '../../crypto/x509/certificate.js';
import { isIssuedBy } from '../../crypto/x509/certificate-path.js';
import type { RevocationReason } from '../../crypto/x509/crl.js';
import { hasIssuer, type OcspRequest, parseOcspRequest } from '../../crypto/x509/ocsp-request.js';
import {
  buildOcspError,
  buildOcspResponse,
  type OcspError,
  type OcspStatus,
} from '../../crypto/x509/ocsp-response.js';
import type { Database } from '../../db/connection/database.js';
import { findIssued, type IssuedRow } from '../../db/pki/revocation-repository.js';
import { AppError } from '../../errors.js';
import { createWarner, type Logger, type Warner } from '../../logger.js';
import type { RevocationAuthorities, RevocationAuthority } from './revocation-lists.js';

/** The nextUpdate of an answer. */
const LIFE_MS = 60 * 60 * 1000;

export interface RevocationResponderDeps {
  db: Pick<Database, 'knex'>;
  authorities: RevocationAuthorities;
  logger: Logger;
  now?: () => Date;
}

export interface RevocationAnswer {
  /** An OCSPResponse. */
  der: Buffer;
  /** Whether caches may reuse it for equal requests. */
  isCacheable: boolean;
}

/** Answers OCSP requests (RFC 6960) about the certificates that this server's CAs have issued. */
export class RevocationResponder {
  readonly #deps: RevocationResponderDeps;
  readonly #now: () => Date;
  readonly #warn: Warner;

  constructor(deps: RevocationResponderDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => new Date());
    this.#warn = createWarner(deps.logger);
  }

  /** Never rejects: a failure becomes an error response. */
  async answer(request: Buffer): Promise<RevocationAnswer> {
    try {
      return await this.#answer(parseOcspRequest(request));
    } catch (error) {
      if (error instanceof AppError && error.code === 'invalid_asn1') {
        this.#deps.logger.debug({ detail: error.message }, 'ocsp request refused');
        return refusal('malformedRequest');
      }
      this.#warn({ err: error }, 'an ocsp request could not be answered');
      return refusal('internalError');
    }
  }

  /** One CA signs the response, so certificates of another one in the request are `unknown`. */
  async #answer({ certificates, nonce }: OcspRequest): Promise<RevocationAnswer> {
    const { db, authorities } = this.#deps;
    const known = authorities.all({ revoked: true });
    const authority = known.find(({ certificate }) =>
      certificates.some((id) => hasIssuer(id, certificate)),
    );
    if (authority === undefined) return refusal('unauthorized');
    const { certificate: issuer, privateKey: issuerKey } = authority;
    const asked = certificates.filter((id) => hasIssuer(id, issuer));
    const serials = [...new Set(asked.map(({ serialHex }) => serialHex))];
    const rows = await findIssued(db.knex, issuer.subject, serials);
    const responses = certificates.map((id) => {
      const own = asked.includes(id) ? rows.filter(({ serial }) => serial === id.serialHex) : [];
      return { certificateId: id.raw, status: statusOf(own, authority) };
    });
    const thisUpdate = this.#now();
    const nextUpdate = new Date(thisUpdate.getTime() + LIFE_MS);
    const times = { thisUpdate, nextUpdate };
    const der = buildOcspResponse({ issuer, issuerKey, responses, nonce, ...times });
    return { der, isCacheable: nonce === undefined };
  }
}

function refusal(error: OcspError): RevocationAnswer {
  return { der: buildOcspError(error), isCacheable: false };
}

/** Only a certificate that this CA signed is `good`. */
function statusOf(rows: readonly IssuedRow[], { certificate: issuer }: RevocationAuthority) {
  const row = rows.find(({ der }) => isIssuedBy(parseCertificate(der), issuer));
  if (row === undefined) return { state: 'unknown' } satisfies OcspStatus;
  const { revoked_at: revokedAt, revocation_reason } = row;
  if (revokedAt === null) return { state: 'good' } satisfies OcspStatus;
  const reason = (revocation_reason ?? undefined) as RevocationReason | undefined;
  return { state: 'revoked', revokedAt, reason } satisfies OcspStatus;
}
