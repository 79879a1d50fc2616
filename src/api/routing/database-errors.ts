import type { ErrorRequestHandler } from 'express';
import { isOutage } from '../../db/connection/outage.js';
import { toAppError } from '../../db/connection/sqlstate.js';

/**
 * A driver's error that nobody has translated, when it means that the database is away: 503, not a
 * fault of the program. Goes before the error handler that answers.
 */
export const explainOutages: ErrorRequestHandler = (error: unknown, req, _res, next) => {
  // A client that goes away in the middle of its body leaves the same errors behind.
  next(req.complete && isOutage(error) ? toAppError(error) : error);
};
