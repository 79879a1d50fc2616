import type { RequestHandler } from 'express';
import { AppError } from '../../errors.js';

/** For operations without query parameters: a misspelt one must not be passed over. */
export const refuseParameters: RequestHandler = (req, _res, next) => {
  const [parameter] = Object.keys(req.query);
  if (parameter !== undefined) {
    const source = { parameter };
    throw new AppError('invalid_parameter', 400, `${parameter} means nothing here`, { source });
  }
  next();
};
