import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import { countSealed, eachSealedBatch, type SealedValue } from '../../db/pki/reseal-repository.js';
import { SEALED_PLACES } from '../../db/pki/sealed-places.js';

export interface Keys {
  former: SecretBox;
  next: SecretBox;
}

/** A value that opens under neither key, as `commands.payload 12`. */
export type Unreadable = string;

export interface ResealOptions {
  /** Called after every batch with the number of resealed values of a place. */
  onProgress(place: string, done: number): void;
}

/** How many sealed values there are. */
export async function countSealedValues(db: Database): Promise<number> {
  let sum = 0;
  for (const place of SEALED_PLACES) sum += await countSealed(db, place);
  return sum;
}

/** The values that do not open. Reads only. */
export async function findUnreadable(db: Database, box: SecretBox): Promise<Unreadable[]> {
  const unreadable: Unreadable[] = [];
  for (const place of SEALED_PLACES) {
    await eachSealedBatch(db, place, (values) => {
      for (const value of values) {
        if (tryOpen(box, value) === undefined) unreadable.push(`${place.name} ${value.key}`);
      }
      return [];
    });
  }
  return unreadable;
}

/**
 * Seals every value under the next key with its label as before. Values that an interrupted run has
 * already resealed stay. Values that open under neither key stay, too, and are returned.
 */
export async function resealAll(
  db: Database,
  { former, next }: Keys,
  { onProgress }: ResealOptions,
): Promise<Unreadable[]> {
  const unreadable: Unreadable[] = [];
  for (const place of SEALED_PLACES) {
    let done = 0;
    await eachSealedBatch(db, place, (values) => {
      const changed = values.flatMap((value) => {
        const plain = tryOpen(former, value);
        if (plain !== undefined) {
          return [{ key: value.key, sealed: next.seal(plain, value.seal_label) }];
        }
        if (tryOpen(next, value) === undefined) unreadable.push(`${place.name} ${value.key}`);
        return [];
      });
      done += values.length;
      if (values.length > 0) onProgress(place.name, done);
      return changed;
    });
  }
  return unreadable;
}

function tryOpen(box: SecretBox, { sealed, seal_label }: SealedValue): Buffer | undefined {
  try {
    return box.open(sealed, seal_label);
  } catch {
    return undefined;
  }
}
