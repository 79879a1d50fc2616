import { buildCrl, encodeCrlEntry, type RevocationReason } from '../../crypto/x509/crl.js';
import type { Database } from '../../db/connection/database.js';
import {
  type RevocationMark,
  type RevokedRow,
  readRevocationMark,
  readRevoked,
} from '../../db/pki/revocation-repository.js';
import { AppError } from '../../errors.js';
import type { CertificateAuthority } from '../authority/authority.js';

const HOUR_MS = 60 * 60 * 1000;
const LIFE_MS = 7 * 24 * HOUR_MS;
const VERSIONS = 2 ** 32;

export interface RevocationList {
  /** The cRLNumber: of two lists of a CA the one with the greater number is the later. */
  number: number;
  der: Buffer;
  thisUpdate: Date;
}

export interface RevocationListDeps {
  db: Pick<Database, 'knex'>;
  authorities: RevocationAuthorities;
}

/**
 * The revocation lists of this server's CAs. A list is cached until any process revokes a
 * certificate, or for an hour. Requests that arrive while a list is built wait for it.
 */
export class RevocationLists {
  readonly #deps: RevocationListDeps;
  readonly #lists = new Map<string, RevocationList>();
  readonly #building = new Map<string, Promise<RevocationList>>();

  constructor(deps: RevocationListDeps) {
    this.#deps = deps;
  }

  /** The list of the CA with this key identifier; undefined for an unknown CA. */
  async find(keyId: string): Promise<RevocationList | undefined> {
    const authority = findAuthority(this.#deps.authorities, keyId);
    if (authority === undefined) return undefined;
    const wanted = await this.#presentNumber(keyId);
    const cached = this.#lists.get(keyId);
    if (cached !== undefined && cached.number >= wanted) return cached;
    // A build under way may have begun before the last revocation.
    const earlier = await this.#building.get(keyId);
    if (earlier !== undefined && earlier.number >= wanted) return earlier;
    return await (this.#building.get(keyId) ?? this.#startBuild(keyId, authority));
  }

  /** While the database is unreachable, the last list is served; it is valid until its nextUpdate. */
  async #presentNumber(keyId: string): Promise<number> {
    try {
      return numberOf(await readRevocationMark(this.#deps.db.knex));
    } catch (error) {
      const isAway = error instanceof AppError && error.code === 'unavailable';
      const list = this.#lists.get(keyId);
      if (!isAway || list === undefined) throw error;
      return list.number;
    }
  }

  #startBuild(keyId: string, authority: RevocationAuthority): Promise<RevocationList> {
    const building = this.#build(authority)
      .then((list) => {
        this.#lists.set(keyId, list);
        return list;
      })
      .finally(() => this.#building.delete(keyId));
    this.#building.set(keyId, building);
    return building;
  }

  async #build({ certificate: issuer, privateKey: issuerKey }: RevocationAuthority) {
    const entries: Buffer[] = [];
    let latest = 0;
    const mark = await readRevoked(this.#deps.db.knex, issuer.subject, (rows) => {
      entries.push(encodeRows(rows));
      latest = Math.max(latest, (rows.at(-1)?.revoked_at ?? 0) * 1000);
    });
    const number = numberOf(mark);
    const thisUpdate = new Date(Math.max(mark.hour.getTime(), latest));
    const nextUpdate = new Date(thisUpdate.getTime() + LIFE_MS);
    const times = { thisUpdate, nextUpdate };
    const der = await buildCrl({ issuer, issuerKey, number, ...times, entries });
    return { number, der, thisUpdate };
  }
}

/** What revocation lists and OCSP need of a CA. */
export type RevocationAuthority = Pick<
  CertificateAuthority,
  'certificate' | 'privateKey' | 'keyId'
>;

export interface RevocationAuthorities {
  /** The CAs made here; with `revoked` also those that were themselves revoked. */
  all(options: { revoked: boolean }): readonly RevocationAuthority[];
}

/** The CA made here with this key identifier, even if it was revoked. */
export function findAuthority(
  authorities: RevocationAuthorities,
  keyId: string,
): RevocationAuthority | undefined {
  return authorities.all({ revoked: true }).find((authority) => authority.keyId === keyId);
}

/** The same in every process for the same content; greater for later content. */
function numberOf({ hour, version }: RevocationMark): number {
  return (hour.getTime() / HOUR_MS) * VERSIONS + version;
}

function encodeRows(rows: readonly RevokedRow[]): Buffer {
  const entries = rows.map(({ serial, revoked_at, revocation_reason }) =>
    encodeCrlEntry({
      serial: Buffer.from(serial, 'hex'),
      revokedAt: new Date(revoked_at * 1000),
      reason: (revocation_reason ?? undefined) as RevocationReason | undefined,
    }),
  );
  return Buffer.concat(entries);
}
