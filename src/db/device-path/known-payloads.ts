import { LRUCache } from 'lru-cache';

const MAX_BYTES = 32 * 1024 * 1024;
/** Their hashes go with every statement. */
const MAX_HASHES = 32;

/**
 * Shared payloads that were sent to devices lately, by their SHA-256. The database need not return the
 * bytes of one to every device: they never change.
 */
export class KnownPayloads {
  readonly #bodies = new LRUCache<string, Payload>({
    max: MAX_HASHES,
    maxSize: MAX_BYTES,
    sizeCalculation: ({ body }) => body.length,
  });

  /** What is known before a statement: an entry is not lost while the statement runs. */
  snapshot(): PayloadSnapshot {
    const known = new Map(this.#bodies.entries());
    return {
      hashes: [...known.values()].map(({ sha256 }) => sha256),
      bodyOf: (sha256, body) => {
        const key = sha256.toString('base64');
        if (body !== null) this.#bodies.set(key, { sha256, body });
        // Marks it as used.
        else this.#bodies.get(key);
        return body ?? known.get(key)?.body;
      },
    };
  }
}

interface Payload {
  sha256: Buffer;
  body: Buffer;
}

export interface PayloadSnapshot {
  hashes: Buffer[];
  /** The body as returned, or the known one if the statement returned none. */
  bodyOf(sha256: Buffer, body: Buffer | null): Buffer | undefined;
}
