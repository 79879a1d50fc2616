import { randomBytes } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { type ConsoleFile, type ConsoleFiles, ENCODINGS } from './console-files.js';

/**
 * First path segments that the server answers itself, with everything below them. Routes of
 * the console avoid them.
 */
export const SERVER_SEGMENTS: ReadonlySet<string> = new Set([
  '.well-known',
  'api',
  'ca',
  'checkin',
  'crl',
  'dep',
  'enroll',
  'healthz',
  'lab',
  'mdm',
  'mdmserviceconfig',
  'metrics',
  'ocsp',
  'readyz',
  'revocation',
  'scep',
]);

/** What the build writes where a nonce belongs (`html.cspNonce` of Vite). */
const NONCE = '__CSP_NONCE__';

const IMMUTABLE = 'public, max-age=31536000, immutable';
const SHORT = 'public, max-age=3600';

/** GET and HEAD of the console: its files, and one page for all of its routes. Passes others on. */
export function createConsole({ index, files }: ConsoleFiles): RequestHandler {
  const page = withNonce(index);
  return (req, res, next) => {
    const { path } = req;
    if (!['GET', 'HEAD'].includes(req.method) || isOfServer(path)) return next();
    const file = files.get(path);
    if (file !== undefined) return sendFile(req, res, file);
    if (isFile(path) || !acceptsHtml(req)) return next();
    sendIndex(req, res, page);
  };
}

function isOfServer(path: string): boolean {
  return SERVER_SEGMENTS.has((path.split('/', 2)[1] ?? '').toLowerCase());
}

/** A file that is not there must not be answered with a page. Routes have no dot at the top. */
function isFile(path: string): boolean {
  return path.startsWith('/assets/') || /^\/[^/]*\.[^/]*$/.test(path);
}

/** Asked for by name: programs accept anything. */
function acceptsHtml(req: Request): boolean {
  return /\btext\/html\b/i.test(req.get('accept') ?? '');
}

function sendFile(req: Request, res: Response, file: ConsoleFile): void {
  const accepted = req.acceptsEncodings();
  const encoding = ENCODINGS.find((name) => accepted.includes(name) && name in file.encoded);
  const bytes = (encoding && file.encoded[encoding]) ?? file.bytes;
  res.vary('Accept-Encoding');
  res.setHeader('Cache-Control', req.path.startsWith('/assets/') ? IMMUTABLE : SHORT);
  res.setHeader('Content-Type', file.mediaType);
  res.setHeader('Content-Length', bytes.length);
  if (encoding !== undefined) res.setHeader('Content-Encoding', encoding);
  res.end(req.method === 'HEAD' ? undefined : bytes);
}

function sendIndex(req: Request, res: Response, page: string): void {
  const nonce = randomBytes(16).toString('base64');
  const bytes = Buffer.from(page.replaceAll(NONCE, nonce));
  res.vary('Accept');
  res.setHeader('Content-Security-Policy', policyOf(nonce));
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('X-Robots-Tag', 'noindex');
  res.setHeader('Content-Type', 'text/html; charset=utf-8');
  res.setHeader('Content-Length', bytes.length);
  res.end(req.method === 'HEAD' ? undefined : bytes);
}

/** Scripts of this server alone, and styles with the nonce, which libraries read from the page. */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** The page with a place for its nonce: the build's own, or else a `meta` at the top of its head. */
function withNonce(index: string): string {
  if (/<meta property="csp-nonce"/.test(index)) return index;
  const meta = `<meta property="csp-nonce" nonce="${NONCE}" content="${NONCE}">`;
  return index.replace(/<head(?:\s[^>]*)?>/i, (head) => `${head}\n${meta}`);
}
