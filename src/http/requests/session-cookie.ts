import type { Request, Response } from 'express';
import { isLocalRequest } from './local-request.js';

const SECURE_NAME = '__Host-muster';
const SECRET = /^[\w-]{1,100}$/;

/** The cookie by which a browser proves its session. */
export class SessionCookie {
  readonly #isPublicHttps: boolean;

  constructor(publicUrl: string) {
    this.#isPublicHttps = publicUrl.startsWith('https:');
  }

  /** The secret that the browser sent. */
  read(req: Request): string | undefined {
    const name = this.#nameFor(req);
    for (const pair of (req.get('cookie') ?? '').split(';')) {
      const [key = '', value = ''] = pair.trim().split('=', 2);
      if (key === name) return SECRET.test(value) ? value : undefined;
    }
    return undefined;
  }

  /** Replaces what the browser has. */
  set(req: Request, res: Response, { secret, endsAt }: { secret: string; endsAt: Date }): void {
    this.#send(req, res, { value: secret, maxAge: Math.max(0, endsAt.getTime() - Date.now()) });
  }

  clear(req: Request, res: Response): void {
    this.#send(req, res, { value: '', maxAge: 0 });
  }

  /** False where a browser would drop the cookie: its page came over http, which the cookie does not. */
  isKept(req: Request): boolean {
    return !this.#isSecure(req) || !/^http:/.test(req.get('origin') ?? '');
  }

  #send(req: Request, res: Response, { value, maxAge }: { value: string; maxAge: number }): void {
    res.cookie(this.#nameFor(req), value, {
      path: '/',
      httpOnly: true,
      sameSite: 'strict',
      secure: this.#isSecure(req),
      maxAge,
    });
  }

  /** Cookies do not distinguish ports, so that two servers on one machine need two names. */
  #nameFor(req: Request): string {
    if (this.#isSecure(req)) return SECURE_NAME;
    const port = /:(\d{1,5})$/.exec(req.get('host') ?? '')?.[1] ?? '80';
    return `muster_session_${port}`;
  }

  /** Over TLS, by this server or by a proxy; not from this machine, where a person may use plain HTTP. */
  #isSecure(req: Request): boolean {
    if ('encrypted' in req.socket) return true;
    return this.#isPublicHttps && !isLocalRequest(req);
  }
}
