import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../errors.js';
import type { BodyCount } from './body-budget.js';

function tooLarge(limit: number): AppError {
  return new AppError('payload_too_large', 413, `the body is larger than ${limit} bytes`);
}

function incomplete(cause?: unknown): AppError {
  return new AppError('bad_request', 400, 'the request ended before its body did', { cause });
}

/** What Content-Length announces; undefined for a chunked body or none at all. */
function declaredLength(req: IncomingMessage): number | undefined {
  const header = req.headers['content-length'];
  if (header === undefined) return undefined;
  return /^\d{1,15}$/.test(header) ? Number(header) : Number.NaN;
}

function join(chunks: Buffer[], length: number): Buffer {
  const [first] = chunks;
  if (first === undefined) return Buffer.alloc(0);
  return chunks.length === 1 ? first : Buffer.concat(chunks, length);
}

function checkBeforeReading(req: IncomingMessage, limit: number): AppError | undefined {
  const declared = declaredLength(req);
  if (Number.isNaN(declared)) {
    return new AppError('bad_request', 400, 'Content-Length is not a number');
  }
  if (declared !== undefined && declared > limit) return tooLarge(limit);
  return req.destroyed || req.readableEnded ? incomplete() : undefined;
}

/** Starts to count a body that did not arrive in one piece; `refuse` ends it. */
export type CountBody = (refuse: (error: AppError) => void) => BodyCount;

/**
 * The whole body, at most `limit` bytes. Rejects with AppError: 413 above the limit, 400 when the
 * client leaves or Content-Length does not match, and the refusal of `count`. Nothing of a refused body
 * stays in memory; the rest is discarded as it arrives, so that the client can read the answer.
 */
export function readBody(req: IncomingMessage, limit: number, count?: CountBody): Promise<Buffer> {
  const refusal = checkBeforeReading(req, limit);
  if (refusal) return Promise.reject(refusal);
  return new Promise((resolve, reject) => collect(req, { limit, count, resolve, reject }));
}

/** How long a refusal waits for a short body, whose sender is logged. */
const SOON_MS = 250;

/** A body of at most `limit` announced bytes, if it arrives within SOON_MS; else undefined. */
export async function readBodySoon(
  req: IncomingMessage,
  limit: number,
): Promise<Buffer | undefined> {
  const length = declaredLength(req) ?? Number.NaN;
  if (!(length <= limit)) return undefined;
  const late = sleep(SOON_MS, undefined, { ref: false });
  return await Promise.race([readBody(req, limit).catch(() => undefined), late]);
}

interface Collecting {
  limit: number;
  count: CountBody | undefined;
  resolve: (body: Buffer) => void;
  reject: (error: AppError) => void;
}

function collect(req: IncomingMessage, { limit, count, resolve, reject }: Collecting): void {
  const declared = declaredLength(req);
  let parts: Buffer[] = [];
  let received = 0;
  let counted: BodyCount | undefined;
  let isOver = false;
  const finish = () => {
    isOver = true;
    parts = [];
    counted?.release();
  };
  const refuse = (error: AppError) => {
    if (isOver) return;
    finish();
    reject(error);
  };
  req.on('data', (part: Buffer) => {
    if (isOver) return;
    received += part.length;
    if (received > limit) return refuse(tooLarge(limit));
    parts.push(part);
    // Most bodies are there at once; only those that have to be waited for are counted.
    if (received === declared) return;
    counted ??= count?.(refuse);
    const refusal = counted?.add(part.length);
    if (refusal) refuse(refusal);
  });
  req.on('end', () => {
    if (isOver) return;
    if (declared !== undefined && declared !== received) return refuse(incomplete());
    const body = join(parts, received);
    finish();
    resolve(body);
  });
  req.on('error', (error) => refuse(incomplete(error)));
  req.on('close', () => {
    if (!req.complete) refuse(incomplete());
  });
}
