import type { RequestHandler, Response } from 'express';
import type { RequestContext } from '../../jsonapi/context.js';
import type { Logger } from '../../logger.js';
import { requestIdOf, sourceAddressOf } from './request-context.js';

export interface RequestLogOptions {
  logger: Logger;
  /** info for admin requests, debug for those of devices. */
  level: 'info' | 'debug';
}

/** Logs a line when a request is answered or its client left. No query: it may hold secrets. */
export function requestLog({ logger, level }: RequestLogOptions): RequestHandler {
  return (req, res, next) => {
    const started = process.hrtime.bigint();
    const { method } = req;
    const path = req.originalUrl.split('?', 1)[0];
    res.once('close', () => {
      const ms = Number((process.hrtime.bigint() - started) / 10_000n) / 100;
      logger[level]({ method, path, ms, ...outcomeOf(res) }, 'request');
    });
    next();
  };
}

function outcomeOf(res: Response) {
  const context = res.locals.context as RequestContext | undefined;
  return {
    status: res.statusCode,
    requestId: requestIdOf(res),
    actor: context?.actor.name,
    address: sourceAddressOf(res),
    aborted: res.writableFinished ? undefined : true,
    ...(res.locals.failure as object | undefined),
  };
}
