import express, { type Request, type RequestHandler } from 'express';
import { checkBody, checkContentType } from '../../jsonapi/requests/negotiation.js';

function hasBody({ headers }: Request): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || 'transfer-encoding' in headers;
}

const checkType: RequestHandler = (req, _res, next) => {
  if (hasBody(req)) checkContentType(req.headers['content-type']);
  next();
};

const parse = express.json({
  ...{ limit: '1mb', strict: false, type: () => true },
  verify: checkBody,
});

/** Reads a JSON body of any form into `req.body`; undefined when there is none. */
export const jsonBody: RequestHandler[] = [checkType, parse];

const requireType: RequestHandler = (req, _res, next) => {
  checkContentType(req.headers['content-type']);
  next();
};

// The parser would make an empty object of an empty body.
const parseAny: RequestHandler = (req, res, next) => {
  if (hasBody(req)) parse(req, res, next);
  else next();
};

/** As jsonBody, where there must be one: AppError 415 without a Content-Type. */
export const requiredJsonBody: RequestHandler[] = [requireType, parseAny];
