import { type Request, type Response, Router } from 'express';
import { isLocalRequest } from '../requests/local-request.js';

/** GET /lab, for programs on this machine: the addresses and credentials of the stand-ins. */
export function createLabRouter(describe: () => Promise<object>): Router {
  const router = Router({ caseSensitive: true });
  router.get('/lab', async (req: Request, res: Response) => {
    res.set('Cache-Control', 'no-store');
    if (isLocalRequest(req)) await sendDescription(res, describe);
    else refuse(res);
  });
  router.all('/lab', (_req, res) => {
    res.status(405).set('Allow', 'GET, HEAD').end();
  });
  return router;
}

async function sendDescription(res: Response, describe: () => Promise<object>): Promise<void> {
  const description = await describe().catch(() => undefined);
  if (description === undefined) {
    res.status(503).set('Retry-After', '5').type('text/plain').send('The database is away\n');
  } else {
    res.json(description);
  }
}

function refuse(res: Response): void {
  res.status(403).type('text/plain').send('The lab is only for programs on this machine\n');
}
