import type { Request, RequestHandler, Response } from 'express';
import { AppError } from '../../errors.js';
import { isBasic } from './authorization.js';

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

/** Of the page that asks, as browsers tell it; none: a person typed the address. */
const OWN_SITE = ['same-origin', 'none'];

export interface CrossSiteOptions {
  publicUrl: string;
  /** Of pages that may do as much as the server's own. */
  corsOrigins: readonly string[];
}

/**
 * Browsers keep HTTP Basic's password and send it along with whatever a page of anybody's has them
 * ask for, so that it does not show who wants a change. Bearer tokens are sent by programs alone.
 * Comes after authentication. Refuses unsafe methods itself, for GETs there is `refuseCrossSite`.
 */
export function crossSite({ publicUrl, corsOrigins }: CrossSiteOptions): RequestHandler {
  const known = new Set([new URL(publicUrl).origin, ...corsOrigins]);
  return (req, res, next) => {
    res.locals.isCrossSite = isBasic(req.get('authorization')) && isOfOthers(req, known);
    if (!SAFE_METHODS.includes(req.method)) refuseCrossSite(req, res, next);
    else next();
  };
}

/** AppError 403: before anything that changes something by GET. */
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

/** No page can choose what these headers say. Programs send neither. */
function isOfOthers(req: Request, known: ReadonlySet<string>): boolean {
  const origin = req.get('origin');
  if (origin !== undefined && known.has(origin)) return false;
  const site = req.get('sec-fetch-site');
  // More telling than Origin, which is null for forms of pages without a referrer.
  if (site !== undefined) return !OWN_SITE.includes(site);
  return origin !== undefined && !isOfHost(origin, req.get('host'));
}

/** Behind a proxy the scheme is not known. */
function isOfHost(origin: string, host = ''): boolean {
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
