import type { Request, RequestHandler, Response } from 'express';
import { AppError } from '../../errors.js';
import { isBasic } from './authorization.js';

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

/** Values of Sec-Fetch-Site for own pages; none: a person typed the address. */
const OWN_SITE = ['same-origin', 'none'];

export interface CrossSiteOptions {
  publicUrl: string;
  /** Origins of pages with the same rights as the server's own. */
  corsOrigins: readonly string[];
}

/**
 * Browsers attach remembered Basic credentials to requests made by any site, so those credentials do
 * not prove that the user wanted the change (CSRF). Only programs send Bearer tokens. Runs after
 * authentication. It refuses unsafe methods; a GET that changes something adds `refuseCrossSite`.
 */
export function crossSite({ publicUrl, corsOrigins }: CrossSiteOptions): RequestHandler {
  const known = new Set([new URL(publicUrl).origin, ...corsOrigins]);
  return (req, res, next) => {
    res.locals.isCrossSite = isBasic(req.get('authorization')) && isOfOtherSite(req, known);
    if (!SAFE_METHODS.includes(req.method)) refuseCrossSite(req, res, next);
    else next();
  };
}

/** AppError 403 for requests of other sites. For a GET that changes something. */
export const refuseCrossSite: RequestHandler = (_req, res, next) => {
  if (isCrossSite(res)) {
    const message =
      'a page of another site asked your browser for this: ' +
      "open it from this server's own pages, or use a program with a Bearer token";
    throw new AppError('forbidden', 403, message);
  }
  next();
};

function isCrossSite(res: Response): boolean {
  return res.locals.isCrossSite === true;
}

/** Pages cannot set these headers. Programs send neither. */
function isOfOtherSite(req: Request, known: ReadonlySet<string>): boolean {
  const origin = req.get('origin');
  if (origin !== undefined && known.has(origin)) return false;
  const site = req.get('sec-fetch-site');
  // More precise than Origin, which is null for forms of pages without a referrer.
  if (site !== undefined) return !OWN_SITE.includes(site);
  return origin !== undefined && !isOfHost(origin, req.get('host'));
}

/** Compares hosts only: behind a proxy the scheme is unknown. */
function isOfHost(origin: string, host = ''): boolean {
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
