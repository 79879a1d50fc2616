import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import type { FirstResponse, KeyClaim } from '../../jsonapi/store.js';
import type { Sql } from '../connection/statement-runner.js';
import { runSql } from './resource-store-sql.js';

/** A key older than a day may be claimed again, even while its row still exists. */
const CLAIM = `
insert into idempotency_keys as k (actor, key, request_digest) values (?, ?, ?)
on conflict (actor, key) do update
  set request_digest = excluded.request_digest, created_at = now(),
    status = null, headers = null, body = null
  where k.created_at < now() - interval '24 hours'
returning true as claimed`;

/** An hour after they expire, so that no row vanishes under a transaction that found it valid. */
const REMOVE_OLD = `
delete from idempotency_keys where ctid in (
  select ctid from idempotency_keys where created_at < now() - interval '25 hours'
  order by created_at limit ? for update skip locked)`;

/** Inserts at most one row: `guard` has one. Returns no row if the key is in use. */
const CLAIM_WITH_RESPONSE = `
insert into idempotency_keys as k (actor, key, request_digest, status, headers, body)
select ?, ?, ?, ?, ?, ? from guard
on conflict (actor, key) do update
  set request_digest = excluded.request_digest, created_at = now(), status = excluded.status,
    headers = excluded.headers, body = excluded.body
  where k.created_at < now() - interval '24 hours'
returning true as claimed`;

const FIRST = `
select status, headers, body, request_digest as digest
from idempotency_keys where actor = ? and key = ?`;

const STORE_RESPONSE = `
update idempotency_keys set status = ?, headers = ?, body = ? where actor = ? and key = ?`;

/**
 * Claims the key for this transaction (undefined), or returns the response to its first request. Waits
 * while another transaction holds the key.
 */
export async function claimKey(
  trx: Knex.Transaction,
  { actor, key, digest }: KeyClaim,
): Promise<FirstResponse | undefined> {
  const claimed = await runSql(trx, { text: CLAIM, bindings: [actor, key, digest] });
  if (claimed.length === 0) {
    const [first] = await runSql<FirstResponse>(trx, { text: FIRST, bindings: [actor, key] });
    if (first === undefined) throw new Error('an idempotency key vanished within its day');
    return first;
  }
  return undefined;
}

/** Claims the key and stores the response to it, as part of a statement that has a `guard`. */
export function claimWithResponse({
  claim: { actor, key, digest },
  answer: { status, headers, body },
}: {
  claim: KeyClaim;
  answer: Omit<FirstResponse, 'digest'>;
}): Sql {
  const bindings = [actor, key, digest, status, JSON.stringify(headers), body];
  return { text: CLAIM_WITH_RESPONSE, bindings };
}

/** Stores the response to a claimed key; it counts once the transaction is committed. */
export async function storeResponse(
  trx: Knex.Transaction,
  { actor, key }: KeyClaim,
  { status, headers, body }: Omit<FirstResponse, 'digest'>,
): Promise<void> {
  const bindings = [status, JSON.stringify(headers), body, actor, key];
  await runSql(trx, { text: STORE_RESPONSE, bindings });
}

/** Deletes at most `limit` expired keys. Returns how many. */
export async function removeOldKeys(knex: Knex, limit: number): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(REMOVE_OLD, [limit]);
  return rowCount;
}

const SEALED = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const START = 1 + NONCE_BYTES;

/**
 * Seals and opens stored response bodies, which may show what is sealed elsewhere, such as an
 * enrollment link. Layout: 1, 12-byte nonce, AES-256-GCM ciphertext, 16-byte tag. A body that begins
 * with another byte is JSON from before bodies were sealed. Bodies live for a day, so no rotation of the
 * master key reseals them: with another key their request digest, under the same key, no longer matches.
 */
export class StoredResponses {
  readonly #key: Buffer;

  constructor(secret: Buffer) {
    // The label is part of what is stored.
    this.#key = createHmac('sha256', secret).update('kept answers').digest();
  }

  seal(body: Buffer): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    const ciphertext = [cipher.update(body), cipher.final()];
    return Buffer.concat([Buffer.of(SEALED), nonce, ...ciphertext, cipher.getAuthTag()]);
  }

  /** null for what was sealed under another key, or altered. */
  open(stored: Buffer): Buffer | null {
    if (stored[0] !== SEALED) return stored;
    const nonce = stored.subarray(1, START);
    try {
      const options = { authTagLength: TAG_BYTES };
      const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce, options);
      decipher.setAuthTag(stored.subarray(-TAG_BYTES));
      const ciphertext = stored.subarray(START, -TAG_BYTES);
      return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
    } catch {
      return null;
    }
  }
}
