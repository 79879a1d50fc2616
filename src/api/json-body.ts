import express, { type RequestHandler } from 'express';
import { checkBody, checkContentType } from '../jsonapi/negotiation.js';

const checkType: RequestHandler = (req, _res, next) => {
  const hasBody =
    Number(req.headers['content-length'] ?? 0) > 0 || 'transfer-encoding' in req.headers;
  if (hasBody) checkContentType(req.headers['content-type']);
  next();
};

/** Reads a JSON body of any form into `req.body`; undefined when there is none. */
export const jsonBody: RequestHandler[] = [
  checkType,
  express.json({ limit: '1mb', strict: false, type: () => true, verify: checkBody }),
];
