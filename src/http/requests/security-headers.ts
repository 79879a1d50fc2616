import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import helmet, { type HelmetOptions } from 'helmet';

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
export function apiSecurityHeaders({ https }: SecurityHeadersOptions): RequestHandler {
  return withHeaders(
    {
      contentSecurityPolicy: {
        useDefaults: false,
        directives: { defaultSrc: NOTHING, frameAncestors: NOTHING },
      },
      strictTransportSecurity: transport(https),
    },
    { 'Cache-Control': 'no-store' },
  );
}

/** For pages of this server, with their own scripts and styles only. */
export function pageSecurityHeaders({ https }: SecurityHeadersOptions): RequestHandler {
  return withHeaders({
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

/** Sets what helmet sets, which is the same for each answer and found once. */
function withHeaders(options: HelmetOptions, others: Record<string, string> = {}): RequestHandler {
  const headers: [name: string, value: string][] = Object.entries(others);
  const recorder = {
    setHeader: (name: string, value: string) => headers.push([name, value]),
    removeHeader: () => undefined,
  };
  helmet(options)({} as IncomingMessage, recorder as unknown as ServerResponse, () => undefined);
  return (_req, res, next) => {
    for (const [name, value] of headers) res.setHeader(name, value);
    next();
  };
}
