import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { MEDIA_TYPE } from './document.js';
import type { Answer } from './engine.js';

/** Writes the answer; 304 without a body where If-None-Match already names what a GET would send. */
export function sendAnswer(req: Request, res: Response, answer: Answer): void {
  const { status, location, replayed } = answer;
  const parts = partsOf(answer);
  const etag = answer.etag ?? (isRead(req) && status === 200 ? hashOf(parts) : undefined);
  res.status(status);
  res.vary('Accept');
  if (location !== undefined) res.setHeader('Location', location);
  if (etag !== undefined) res.setHeader('ETag', etag);
  if (replayed) res.setHeader('Idempotency-Replayed', 'true');
  if (isRead(req) && etag !== undefined && isKnown(req.headers['if-none-match'], etag)) {
    res.status(304).end();
    return;
  }
  sendParts(req, res, parts);
}

// Not res.send(): it would add a charset to the type, which JSON:API forbids.
function sendParts(req: Request, res: Response, parts: Buffer[]): void {
  if (parts.length > 0) {
    res.setHeader('Content-Type', MEDIA_TYPE);
    res.setHeader(
      'Content-Length',
      parts.reduce((sum, part) => sum + part.length, 0),
    );
    if (req.method !== 'HEAD') for (const part of parts) res.write(part);
  }
  res.end();
}

function partsOf({ chunks, body, document }: Answer): Buffer[] {
  if (chunks) return chunks;
  if (body) return [body];
  return document ? [Buffer.from(JSON.stringify(document))] : [];
}

function isRead({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD';
}

function hashOf(parts: Buffer[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return entityTagOf(hash.digest());
}

/**
 * An entity tag, quotes and all, from the digest of a document. Weak: the same one comes with its
 * bytes as they are and compressed (RFC 9110 §8.8.1, §8.8.3.3).
 */
export function entityTagOf(digest: Buffer): string {
  return `W/"${digest.toString('base64url').slice(0, 22)}"`;
}

/** RFC 9110, 13.1.2: `*` or a list of tags, compared weakly. */
export function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  const tags: string[] = header.match(/"[\x21\x23-\x7e]*"/g) ?? [];
  return tags.includes(etag.replace(/^W\//, ''));
}
