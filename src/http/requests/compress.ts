import compression from 'compression';
import type { RequestHandler } from 'express';

/** Documents and pages. Not files: the compressed length of a secret beside known text reveals it. */
const COMPRESSED = /^(?:application\/(?:vnd\.api\+)?json|text\/(?:html|css|csv|javascript))(?:;|$)/;
const THRESHOLD_BYTES = 1024;

/** Compresses large documents and pages, if the client accepts it. */
export function compress(): RequestHandler {
  return compression({
    threshold: THRESHOLD_BYTES,
    filter: (_req, res) => COMPRESSED.test(String(res.getHeader('content-type') ?? '')),
  });
}
