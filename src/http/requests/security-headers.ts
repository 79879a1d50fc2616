import type { RequestHandler } from 'express';
import helmet from 'helmet';

export interface SecurityHeadersOptions {
  /** PUBLIC_URL is https: Strict-Transport-Security is sent. */
  https: boolean;
}

const NOTHING = ["'none'"];
const SELF = ["'self'"];

function transport(https: boolean) {
  return https ? { maxAge: 15_552_000, includeSubDomains: false } : false;
}

/** For /api/v1: documents and downloads, which browsers must neither render nor store. */
export function apiSecurityHeaders({ https }: SecurityHeadersOptions): RequestHandler[] {
  const headers = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: NOTHING, frameAncestors: NOTHING },
    },
    strictTransportSecurity: transport(https),
  });
  const noStore: RequestHandler = (_req, res, next) => {
    res.setHeader('Cache-Control', 'no-store');
    next();
  };
  return [headers, noStore];
}

/** For pages of this server, with their own scripts and styles only. */
export function pageSecurityHeaders({ https }: SecurityHeadersOptions): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: SELF,
        imgSrc: ["'self'", 'data:'],
        styleSrc: ["'self'", "'unsafe-inline'"],
        objectSrc: NOTHING,
        baseUri: SELF,
        formAction: SELF,
        frameAncestors: NOTHING,
      },
    },
    strictTransportSecurity: transport(https),
  });
}
