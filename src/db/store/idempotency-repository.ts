import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import type { FirstAnswer, KeyClaim } from '../../jsonapi/store.js';
import { runSql } from './resource-store-sql.js';

/** An old key is as good as none, also while its row is still there. */
const CLAIM = `
insert into idempotency_keys as k (actor, key, request_digest) values (?, ?, ?)
on conflict (actor, key) do update
  set request_digest = excluded.request_digest, created_at = now(),
    status = null, headers = null, body = null
  where k.created_at < now() - interval '24 hours'
returning true as claimed`;

/** An hour later than they end, so that none vanishes before the eyes of who found it still valid. */
const REMOVE_OLD = `
delete from idempotency_keys where ctid in (
  select ctid from idempotency_keys where created_at < now() - interval '25 hours'
  order by created_at limit ? for update skip locked)`;

const FIRST = `
select status, headers, body, request_digest as digest
from idempotency_keys where actor = ? and key = ?`;

const KEEP = `
update idempotency_keys set status = ?, headers = ?, body = ? where actor = ? and key = ?`;

/**
 * Claims the key for this transaction, or gives the answer that its first request got. Waits
 * while another transaction holds the key.
 */
export async function claimKey(
  trx: Knex.Transaction,
  { actor, key, digest }: KeyClaim,
): Promise<FirstAnswer | undefined> {
  const claimed = await runSql(trx, { text: CLAIM, bindings: [actor, key, digest] });
  if (claimed.length === 0) {
    const [first] = await runSql<FirstAnswer>(trx, { text: FIRST, bindings: [actor, key] });
    if (first === undefined) throw new Error('an idempotency key vanished within its day');
    return first;
  }
  return undefined;
}

/** Completes a claimed key with the answer; it counts once the transaction is committed. */
export async function keepAnswer(
  trx: Knex.Transaction,
  { actor, key }: KeyClaim,
  { status, headers, body }: Omit<FirstAnswer, 'digest'>,
): Promise<void> {
  const bindings = [status, JSON.stringify(headers), body, actor, key];
  await runSql(trx, { text: KEEP, bindings });
}

/** Removes keys that are good for nothing any more, at most so many. Returns how many. */
export async function removeOldKeys(knex: Knex, limit: number): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(REMOVE_OLD, [limit]);
  return rowCount;
}

const SEALED = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const START = 1 + NONCE_BYTES;

/** Closes and opens the bodies of answers that are kept for repetitions. */
interface StoredResponses {
  close(body: Buffer): Buffer;
  /** null for what another key closed. */
  open(kept: Buffer): Buffer | null;
}

/**
 * An answer may show what is sealed elsewhere, an enrollment link for one. Layout: 1, 12-byte nonce,
 * AES-256-GCM ciphertext, 16-byte tag. A body of JSON, which begins with another byte, is from before
 * answers were closed. They live for a day, so no rotation of the master key takes them along: the
 * digest beside them, under the same key, makes them useless then.
 */
export function createStoredResponses(secret: Buffer): StoredResponses {
  const key = createHmac('sha256', secret).update('kept answers').digest();
  return {
    close(body) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const ciphertext = [cipher.update(body), cipher.final()];
      return Buffer.concat([Buffer.of(SEALED), nonce, ...ciphertext, cipher.getAuthTag()]);
    },
    open: (kept) => (kept[0] === SEALED ? open(kept, key) : kept),
  };
}

function open(kept: Buffer, key: Buffer): Buffer | null {
  const options = { authTagLength: TAG_BYTES };
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, kept.subarray(1, START), options);
    decipher.setAuthTag(kept.subarray(-TAG_BYTES));
    const ciphertext = kept.subarray(START, -TAG_BYTES);
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  } catch {
    return null;
  }
}
