import { LRUCache } from 'lru-cache';
import { MicroBatcher } from '../db/connection/micro-batcher.js';
import { toAppError } from '../db/connection/sqlstate.js';

/** While the change feed is down, a token that another process revokes may work for this long. */
const KNOWN_MS = 1_000;
/** An unknown hash may be cached for longer: no client sends a secret before it is created. */
const UNKNOWN_MS = 10_000;
const MAX_KNOWN = 1_000;
const MAX_UNKNOWN = 10_000;

interface Known<Row> {
  row: Row;
  until: number;
}

/** Reads the rows with these hashes, in one statement and in any order. */
export type FindByHashes<Row> = (hashes: readonly Buffer[]) => Promise<(Row & HashedRow)[]>;

interface HashedRow {
  hash: Buffer;
}

/**
 * Finds rows by the hash of their secret and caches the results for seconds. A flood of unknown secrets
 * uses one connection: look-ups that arrive during one statement share the next.
 */
export class HashLookup<Row extends object> {
  readonly #known = new LRUCache<string, Known<Row>>({ max: MAX_KNOWN });
  readonly #unknown = new LRUCache<string, number>({ max: MAX_UNKNOWN });
  readonly #batcher: MicroBatcher<Buffer, Row | undefined>;
  #changes = 0;

  constructor(find: FindByHashes<Row>) {
    this.#batcher = new MicroBatcher((hashes) => findEach(find, hashes), {
      maxBatch: 500,
      maxInFlight: 1,
      keyOf: (hash) => hash.toString('base64'),
    });
  }

  /** The usable row with this SHA-256; undefined when there is none. AppError 503. */
  async find(hash: Buffer): Promise<Row | undefined> {
    const key = hash.toString('base64');
    const now = Date.now();
    const known = this.#known.get(key);
    if (known !== undefined && known.until > now) return known.row;
    if ((this.#unknown.get(key) ?? 0) > now) return undefined;
    const before = this.#changes;
    const row = await this.#batcher.submit(hash).catch((error) => {
      throw toAppError(error);
    });
    if (row === undefined) this.#unknown.set(key, Date.now() + UNKNOWN_MS);
    else if (before === this.#changes) {
      this.#known.set(key, { row, until: Date.now() + KNOWN_MS });
    }
    return row;
  }

  /** Clears the cache, since rows have changed. */
  forget(): void {
    this.#changes += 1;
    this.#known.clear();
    this.#unknown.clear();
  }
}

async function findEach<Row>(
  find: FindByHashes<Row>,
  hashes: Buffer[],
): Promise<(Row | undefined)[]> {
  const found = await find(hashes);
  const byHash = new Map(found.map((row) => [row.hash.toString('base64'), row]));
  return hashes.map((hash) => byHash.get(hash.toString('base64')));
}
