import { type Response, Router } from 'express';
import { isLocalRequest } from './local-request.js';

/** GET /lab, for programs on this machine: where the stand-ins are, and what it takes to use them. */
export function createLabRouter(describe: () => object): Router {
  const router = Router({ caseSensitive: true });
  router.get('/lab', (req, res) => {
    res.set('Cache-Control', 'no-store');
    if (isLocalRequest(req)) res.json(describe());
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
