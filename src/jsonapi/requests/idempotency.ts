import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../errors.js';
import type { RequestContext, Transaction } from '../context.js';
import { documentText } from '../documents/json-text.js';
import type { Answer, Idempotency } from '../handler.js';
import type { FirstResponse, KeyClaim, Store } from '../store.js';

const KEY = /^[\x21-\x7e]{1,255}$/;

const bodies = new WeakMap<IncomingMessage, Buffer>();

/** Stores the digest of a body for `readIdempotency`, which runs after the body is parsed. */
export function noteBody(req: IncomingMessage, body: Buffer): void {
  if (req.headers['idempotency-key'] !== undefined) bodies.set(req, sha256(body));
}

function sha256(...parts: (string | Buffer)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/**
 * The key of a write and the digest of the request; undefined without a key. `body` is for bodies that
 * are not JSON. AppError 400 unless the key is 1 to 255 visible ASCII characters.
 */
export function readIdempotency(
  req: IncomingMessage & { originalUrl: string },
  body?: Buffer,
): Idempotency | undefined {
  const key = req.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !KEY.test(key)) {
    const source = { header: 'Idempotency-Key' };
    const message = 'Idempotency-Key must be 1 to 255 visible ASCII characters';
    throw new AppError('bad_request', 400, message, { source });
  }
  const digestOfBody = (body ? sha256(body) : bodies.get(req)) ?? '';
  return { key, digest: sha256(`${req.method} ${req.originalUrl}\n`, digestOfBody) };
}

/** A write in its transaction. */
export interface Write {
  context: RequestContext;
  idempotency?: Idempotency | undefined;
  /** Does the write and returns its answer. An error rolls it back. */
  work(trx: Transaction): Promise<Answer>;
}

/**
 * Runs a write in one transaction; with an Idempotency-Key exactly once in 24 hours, even if the same
 * request reaches several processes at once. Repetitions get the stored response. A failed write stores
 * no key. AppError 422 if the key was used for another request.
 */
export async function performWrite(store: Store, write: Write): Promise<Answer> {
  return store.inTransaction((trx) => {
    const { idempotency } = write;
    return idempotency ? once(store, trx, { ...write, idempotency }) : write.work(trx);
  });
}

async function once(
  store: Store,
  trx: Transaction,
  { context, idempotency, work }: Write & { idempotency: Idempotency },
): Promise<Answer> {
  const claim = claimOf(store, context, idempotency);
  const first = await store.claimKey(trx, claim);
  if (first) return replay(first, claim);
  const answer = withBytes(await work(trx));
  await store.storeResponse(trx, claim, storable(answer));
  return answer;
}

/** The claim of a request with an Idempotency-Key. */
export function claimOf(
  store: Store,
  { actor: { name, role } }: RequestContext,
  { key, digest }: Idempotency,
): KeyClaim {
  return { key, digest: store.keyedDigest(digest), actor: `${role}:${name}` };
}

function withBytes({ document, ...answer }: Answer): Answer {
  if (answer.body !== undefined || document === undefined) return answer;
  return { ...answer, body: Buffer.from(documentText(document)) };
}

/** What is stored of an answer. */
export function storable({ status, body, location, etag }: Answer): Omit<FirstResponse, 'digest'> {
  return { status, body: body ?? null, headers: { location, etag } };
}

function replay({ status, body, headers, digest }: FirstResponse, claim: KeyClaim): Answer {
  if (!digest.equals(claim.digest)) {
    const source = { header: 'Idempotency-Key' };
    const message = 'this Idempotency-Key was given with another request';
    throw new AppError('idempotency_key_reused', 422, message, { source });
  }
  const { location, etag } = headers;
  return {
    status,
    replayed: true,
    body: body ?? undefined,
    location,
    etag,
  };
}
