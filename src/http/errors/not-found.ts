import type { RequestHandler } from 'express';
import { AppError } from '../../errors.js';

/** Last under /api/v1, before its error handler. */
export const noSuchRoute: RequestHandler = (req) => {
  const path = req.originalUrl.split('?', 1)[0];
  throw new AppError('no_such_route', 404, `${path} is not a path of this API`);
};

/** Last of all. */
export const plainNotFound: RequestHandler = (_req, res) => {
  res.status(404).type('text/plain').send('Not found\n');
};
