import compression from 'compression';
import type { RequestHandler } from 'express';

/**
 * Documents and the pages about them. Not files: some hold secrets, whose length must not depend on
 * what else is in the answer.
 */
const COMPRESSED = /^(?:application\/(?:vnd\.api\+)?json|text\/(?:html|css|javascript))(?:;|$)/;
const THRESHOLD_BYTES = 1024;

/** Compresses what is worth it, as the client accepts it. */
export function compress(): RequestHandler {
  return compression({
    threshold: THRESHOLD_BYTES,
    filter: (_req, res) => COMPRESSED.test(String(res.getHeader('content-type') ?? '')),
  });
}
