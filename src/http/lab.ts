import { type Request, type Response, Router } from 'express';
import { isLocalRequest } from './metrics-router.js';

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/;

/** The name is looked at too: a page in a browser can make its own name lead here. */
function isFromHere(req: Request): boolean {
  return isLocalRequest(req) && LOOPBACK_HOST.test(req.headers.host ?? '');
}

/** GET /lab, for programs on this machine: where the stand-ins are, and what it takes to use them. */
export function createLabRouter(describe: () => object): Router {
  const router = Router({ caseSensitive: true });
  router.get('/lab', (req, res) => {
    res.set('Cache-Control', 'no-store');
    if (isFromHere(req)) res.json(describe());
    else refuse(res);
  });
  router.all('/lab', (_req, res) => {
    res.status(405).set('Allow', 'GET, HEAD').end();
  });
  return router;
}

function refuse(res: Response): void {
  res.status(403).type('text/plain').send('The lab is only for programs on this machine\n');
}
