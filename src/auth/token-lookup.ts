import { LRUCache } from 'lru-cache';
import { findUsableTokens, type TokenRow } from '../db/admin/token-repository.js';
import type { Database } from '../db/connection/database.js';
import { MicroBatcher } from '../db/connection/micro-batcher.js';
import { toAppError } from '../db/connection/sqlstate.js';

/** How long a token revoked by another process may still work while the change feed is down. */
const KNOWN_MS = 1_000;
/** An unknown token stays unknown: nobody can send one before it is created. */
const UNKNOWN_MS = 10_000;
const MOST_KNOWN = 1_000;
const MOST_UNKNOWN = 10_000;

interface Known {
  row: TokenRow;
  until: number;
}

/**
 * Finds tokens by their hash and caches the results for seconds. A flood of unknown tokens uses one
 * connection: look-ups that arrive during one statement share the next.
 */
export class TokenLookup {
  readonly #known = new LRUCache<string, Known>({ max: MOST_KNOWN });
  readonly #unknown = new LRUCache<string, number>({ max: MOST_UNKNOWN });
  readonly #batcher: MicroBatcher<Buffer, TokenRow | undefined>;
  #revocations = 0;

  constructor(db: Database) {
    this.#batcher = new MicroBatcher((hashes) => findEach(db, hashes), {
      maxBatch: 500,
      maxInFlight: 1,
      keyOf: (hash) => hash.toString('base64'),
    });
  }

  /** The token with this SHA-256; undefined when unknown, expired or revoked. AppError 503. */
  async find(hash: Buffer): Promise<TokenRow | undefined> {
    const key = hash.toString('base64');
    const now = Date.now();
    const known = this.#known.get(key);
    if (known !== undefined && known.until > now) return known.row;
    if ((this.#unknown.get(key) ?? 0) > now) return undefined;
    const before = this.#revocations;
    const row = await this.#batcher.submit(hash).catch((error) => {
      throw toAppError(error);
    });
    if (row === undefined) this.#unknown.set(key, Date.now() + UNKNOWN_MS);
    else if (before === this.#revocations) {
      this.#known.set(key, { row, until: Date.now() + KNOWN_MS });
    }
    return row;
  }

  /** Clears the cache, since tokens have changed. */
  forget(): void {
    this.#revocations += 1;
    this.#known.clear();
    this.#unknown.clear();
  }
}

async function findEach(db: Database, hashes: Buffer[]): Promise<(TokenRow | undefined)[]> {
  const found = await findUsableTokens(db.knex, hashes);
  const byHash = new Map(found.map((row) => [row.token_hash.toString('base64'), row]));
  return hashes.map((hash) => byHash.get(hash.toString('base64')));
}
