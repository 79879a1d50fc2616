import type { Request, RequestHandler, Response } from 'express';
import { AppError } from '../../errors.js';
import { isBasic } from './authorization.js';
import { contextOf } from './request-context.js';

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

/** Values of Sec-Fetch-Site for own pages; none: a person typed the address. */
const OWN_SITE = ['same-origin', 'none'];

/** Only own pages can set it: for others a browser asks first, and is refused. */
const CONSOLE_HEADER = 'x-muster-console';

export interface CrossSiteOptions {
  publicUrl: string;
  /** Origins of pages with the same rights as the server's own. */
  corsOrigins: readonly string[];
}

/**
 * Browsers attach remembered Basic credentials and cookies to requests made by any site, so those do
 * not prove that the user wanted the change (CSRF). Only programs send Bearer tokens. Runs after
 * authentication. It refuses unsafe methods; a GET that changes something adds `refuseCrossSite`.
 */
export function crossSite({ publicUrl, corsOrigins }: CrossSiteOptions): RequestHandler {
  const own = ownOrigins(publicUrl);
  const known = new Set([...own, ...corsOrigins]);
  return (req, res, next) => {
    if (contextOf(res).actor.session !== undefined) {
      res.locals.crossSite = isOfConsole(req, own) ? undefined : consoleHeaderRequired();
    } else if (isBasic(req.get('authorization')) && isOfOtherSite(req, known)) {
      res.locals.crossSite = otherSite();
    }
    if (!SAFE_METHODS.includes(req.method)) refuseCrossSite(req, res, next);
    else next();
  };
}

/** AppError 403 for requests of other sites. For a GET that changes something. */
export const refuseCrossSite: RequestHandler = (_req, res, next) => {
  const { crossSite } = res.locals as Response['locals'] & { crossSite?: AppError | undefined };
  if (crossSite !== undefined) throw crossSite;
  next();
};

/** AppError 403 for a page of another site, before anything is known of who asks. */
export function refuseOtherPages({
  publicUrl,
}: Pick<CrossSiteOptions, 'publicUrl'>): RequestHandler {
  const own = ownOrigins(publicUrl);
  return (req, _res, next) => {
    if (!isOfOwnPage(req, own)) {
      throw new AppError('forbidden', 403, "sign in from this server's own pages");
    }
    next();
  };
}

/** The console asks for news by itself, without a person: that does not prolong a session. */
export function isBackground(req: Request): boolean {
  return req.get(CONSOLE_HEADER) === 'background';
}

function ownOrigins(publicUrl: string): ReadonlySet<string> {
  return new Set([new URL(publicUrl).origin]);
}

function isOfConsole(req: Request, own: ReadonlySet<string>): boolean {
  return req.get(CONSOLE_HEADER) === '1' && isOfOwnPage(req, own);
}

function otherSite(): AppError {
  const message =
    'a page of another site asked your browser for this: ' +
    "open it from this server's own pages, or use a program with a Bearer token";
  return new AppError('forbidden', 403, message);
}

function consoleHeaderRequired(): AppError {
  const message =
    'a change by a session needs the header X-Muster-Console: 1, and must come from a page of ' +
    'this server; a program sends a Bearer token instead';
  return new AppError('console_header_required', 403, message, {
    source: { header: 'X-Muster-Console' },
  });
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

/** By both headers, where both are sent. A typed address is no page. */
function isOfOwnPage(req: Request, own: ReadonlySet<string>): boolean {
  const site = req.get('sec-fetch-site');
  if (site !== undefined && site !== 'same-origin') return false;
  const origin = req.get('origin');
  if (origin === undefined || own.has(origin)) return true;
  // A page without a referrer sends null; only Sec-Fetch-Site then says whose page it is.
  if (origin === 'null') return site !== undefined;
  return isOfHost(origin, req.get('host'));
}

/** Compares hosts only: behind a proxy the scheme is unknown. */
function isOfHost(origin: string, host = ''): boolean {
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
