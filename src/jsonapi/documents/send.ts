import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import type { Answer } from '../handler.js';
import { negotiateForm } from '../requests/negotiation.js';
import { type Document, MEDIA_TYPE } from './document.js';
import { documentText } from './json-text.js';
import { STRING_IDS_MEDIA_TYPE, stringIdsTag, withStringIds } from './string-ids.js';

/**
 * Sends the answer in the form that Accept requests; 304 without a body if If-None-Match has the entity
 * tag of a GET.
 */
export function sendAnswer(req: Request, res: Response, given: Answer): void {
  const { stringIds } = negotiateForm(req.headers.accept);
  const answer = stringIds ? inStringIds(given) : given;
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
  sendParts(req, res, { parts, mediaType: stringIds ? STRING_IDS_MEDIA_TYPE : MEDIA_TYPE });
}

// Not res.send(): it would add a charset to the type, which JSON:API forbids.
function sendParts(
  req: Request,
  res: Response,
  { parts, mediaType }: { parts: Buffer[]; mediaType: string },
): void {
  if (parts.length === 0) {
    res.end();
    return;
  }
  res.setHeader('Content-Type', mediaType);
  res.setHeader(
    'Content-Length',
    parts.reduce((sum, part) => sum + part.length, 0),
  );
  const shown = req.method === 'HEAD' ? [] : parts;
  for (const part of shown.slice(0, -1)) res.write(part);
  res.end(shown.at(-1));
}

/** Lists already have their form. The stored response to a repeated write has only bytes. */
function inStringIds(answer: Answer): Answer {
  const { chunks, body, document, etag, ...rest } = answer;
  const tagged = { ...rest, etag: etag && stringIdsTag(etag) };
  if (chunks) return { ...tagged, chunks };
  const original = document ?? (body && (JSON.parse(body.toString()) as Document));
  if (!original) return tagged;
  return { ...tagged, body: Buffer.from(documentText(withStringIds(original))) };
}

function partsOf({ chunks, body, document }: Answer): Buffer[] {
  if (chunks) return chunks;
  if (body) return [body];
  return document ? [Buffer.from(documentText(document))] : [];
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
 * An entity tag with its quotes, from the digest of a document. Weak, since the compressed and the plain
 * document share it (RFC 9110 §8.8.1, §8.8.3.3).
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
