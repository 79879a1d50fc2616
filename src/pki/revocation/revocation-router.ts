import { type Request, type Response, Router } from 'express';
import { decodeBase64 } from '../../crypto/asn1/base64.js';
import { AppError, notFound } from '../../errors.js';
import type { BodyReader } from '../../http/bodies/body-reader.js';
import { deviceErrorHandler } from '../../http/errors/device-errors.js';
import type { Logger } from '../../logger.js';
import {
  findAuthority,
  type RevocationAuthorities,
  type RevocationLists,
} from './revocation-lists.js';
import type { RevocationAnswer, RevocationResponder } from './revocation-responder.js';

const MAX_REQUEST_BYTES = 8_192;
/** Caches ask again after this, so that a revocation becomes known soon. */
const FRESH_SECONDS = 300;
const DAY_SECONDS = 24 * 60 * 60;
const OCSP_PATH = '/ocsp/';

export interface RevocationRouterDeps {
  authorities: RevocationAuthorities;
  lists: RevocationLists;
  responder: RevocationResponder;
  bodies: BodyReader;
  logger: Logger;
}

interface CachedFile {
  type: string;
  body: Buffer;
  /** With its quotes. */
  etag: string;
  lastModified: Date;
  maxAge: number;
}

/** The public addresses of this server's CAs: revocation lists, OCSP, their certificates. */
export function createRevocationRouter(deps: RevocationRouterDeps): Router {
  const { authorities, lists, responder, bodies, logger } = deps;
  const router = Router({ caseSensitive: true });
  router
    .route('/crl/:file')
    .get((req, res) => sendList(req, res, lists))
    .all(refuseMethod('GET, HEAD'));
  router
    .route('/ca/:file')
    .get((req, res) => sendCertificate(req, res, authorities))
    .all(refuseMethod('GET, HEAD'));
  router
    .route('/ocsp')
    .post(async (req, res) => {
      sendAnswer(res, await responder.answer(await bodies.read(req, MAX_REQUEST_BYTES)));
    })
    .all(refuseMethod('POST'));
  // Not a route parameter: Express rejects malformed URL encoding before the handler runs.
  router
    .route(/^\/ocsp\/./)
    .get(async (req, res) => sendAnswer(res, await responder.answer(requestInPath(req))))
    .all(refuseMethod('GET, HEAD'));
  router.use(['/crl', '/ca', '/ocsp'], deviceErrorHandler(logger));
  return router;
}

async function sendList(req: Request, res: Response, lists: RevocationLists): Promise<void> {
  const list = await lists.find(keyIdIn(req, '.crl'));
  if (list === undefined) throw notFound('this revocation list');
  sendFile(req, res, {
    type: 'application/pkix-crl',
    body: list.der,
    // Weak: the signatures of an EC key differ from process to process.
    etag: `W/"${list.number}"`,
    lastModified: list.thisUpdate,
    maxAge: FRESH_SECONDS,
  });
}

/** The `<key id>` of `<key id>.crl`; for other names the empty string, which no CA has. */
function keyIdIn({ params }: Request, extension: string): string {
  const file = String(params.file);
  return file.endsWith(extension) ? file.slice(0, -extension.length) : '';
}

function sendFile(req: Request, res: Response, file: CachedFile): void {
  res.setHeader('ETag', file.etag);
  res.setHeader('Last-Modified', file.lastModified.toUTCString());
  res.setHeader('Cache-Control', `public, max-age=${file.maxAge}`);
  if (req.fresh) {
    res.writeHead(304).end();
    return;
  }
  res.writeHead(200, { 'Content-Type': file.type, 'Content-Length': file.body.length });
  res.end(file.body);
}

function refuseMethod(Allow: string): () => never {
  return () => {
    const headers = { Allow };
    throw new AppError('method_not_allowed', 405, `only ${Allow}`, { headers });
  };
}

function sendCertificate(req: Request, res: Response, authorities: RevocationAuthorities): void {
  const found = findAuthority(authorities, keyIdIn(req, '.cer'));
  if (found === undefined) throw notFound('this certificate');
  const { der: body, fingerprint, notBefore: lastModified } = found.certificate;
  const etag = `"${fingerprint.toString('hex')}"`;
  sendFile(req, res, {
    type: 'application/pkix-cert',
    body,
    etag,
    lastModified,
    maxAge: DAY_SECONDS,
  });
}

function sendAnswer(res: Response, { der, isCacheable }: RevocationAnswer): void {
  const caching = isCacheable
    ? `public, max-age=${FRESH_SECONDS}, no-transform, must-revalidate`
    : 'no-store';
  res.writeHead(200, {
    'Content-Type': 'application/ocsp-response',
    'Content-Length': der.length,
    'Cache-Control': caching,
  });
  res.end(der);
}

/** RFC 6960 A.1.1: the URL-encoded base64; unreadable text is as malformed as an empty request. */
function requestInPath({ path }: Request): Buffer {
  try {
    return decodeBase64(decodeURIComponent(path.slice(OCSP_PATH.length))) ?? Buffer.alloc(0);
  } catch {
    return Buffer.alloc(0);
  }
}
