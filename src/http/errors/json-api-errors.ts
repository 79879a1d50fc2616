import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { AppError, type ErrorCode, type ErrorDetail } from '../../errors.js';
import { createWarner, type Logger } from '../../logger.js';
import { requestIdOf } from '../requests/request-context.js';

/** During an outage of the database every request fails; the request log has a line for each. */
const AWAY_QUIET_MS = 5_000;

export const MEDIA_TYPE = 'application/vnd.api+json';

// The `type` of the errors of body-parser and raw-body.
const BODY_ERRORS: Record<string, [code: ErrorCode, status: number, message: string]> = {
  'entity.parse.failed': ['malformed_json', 400, 'the body is not valid JSON'],
  'entity.too.large': ['payload_too_large', 413, 'the body is too large'],
  'parameters.too.many': ['payload_too_large', 413, 'the body has too many parameters'],
  'charset.unsupported': ['unsupported_media_type', 415, 'the charset is not supported'],
  'encoding.unsupported': ['unsupported_media_type', 415, 'the encoding is not supported'],
  'request.aborted': ['bad_request', 400, 'the request ended before its body did'],
  'request.size.invalid': ['bad_request', 400, 'Content-Length is not the size of the body'],
};

/** Failures of what the server depends on, or of its load: the client is sent the reason. */
const EXPLAINED: ReadonlySet<ErrorCode> = new Set([
  'unavailable',
  'push_service_unreachable',
  'server_busy',
]);

const CODES_BY_STATUS: Record<number, ErrorCode> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  406: 'not_acceptable',
  409: 'conflict',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  422: 'validation_failed',
  429: 'too_many_requests',
};

function propertyOf(error: unknown, name: 'type' | 'status'): unknown {
  return error instanceof Error ? (error as Error & Record<typeof name, unknown>)[name] : undefined;
}

/** Any thrown value as an AppError: errors of the client keep their 4xx, all others become 500. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const body = BODY_ERRORS[String(propertyOf(error, 'type'))];
  if (body) return new AppError(body[0], body[1], body[2], { cause: error });
  if (error instanceof URIError) {
    return new AppError('bad_request', 400, 'the path is not valid percent-encoding');
  }
  const status = propertyOf(error, 'status');
  if (typeof status === 'number' && status >= 400 && status < 500) {
    const code = CODES_BY_STATUS[status] ?? 'bad_request';
    return new AppError(code, status, 'the request is not valid', { cause: error });
  }
  return new AppError('internal_error', 500, 'internal error', { cause: error });
}

function titleOf(code: ErrorCode): string {
  const words = code.replaceAll('_', ' ').replace('json', 'JSON').replace('plist', 'property list');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function describe(error: AppError, fault: ErrorDetail, requestId: string) {
  const code = fault.code ?? error.code;
  return {
    id: requestId,
    status: String(error.status),
    code,
    title: titleOf(code),
    detail: error.status < 500 || EXPLAINED.has(code) ? fault.detail : undefined,
    source: fault.source,
    meta: fault.meta,
  };
}

/** The JSON:API error document; it never contains the cause of an internal error. */
export function errorDocument(error: AppError, requestId: string) {
  const whole: ErrorDetail = {
    detail: error.message,
    source: error.source,
  };
  const faults = error.details.length > 0 ? error.details : [whole];
  return {
    errors: faults.map((fault) => describe(error, fault, requestId)),
    jsonapi: { version: '1.0' },
  };
}

function send(res: Response, error: AppError): void {
  const body = Buffer.from(JSON.stringify(errorDocument(error, requestIdOf(res))));
  res.status(error.status).set(error.headers);
  res.setHeader('Content-Type', MEDIA_TYPE);
  res.setHeader('Content-Length', body.length);
  res.end(body);
}

/** Answers every error under /api/v1; the request log reads `res.locals.failure`. */
export function jsonApiErrorHandler(logger: Logger): ErrorRequestHandler {
  const warn = createWarner(logger, AWAY_QUIET_MS);
  return (thrown: unknown, req, res, _next) => {
    const error = toAppError(thrown);
    const request = { requestId: requestIdOf(res), method: req.method };
    const about = { err: error, ...request };
    if (error.code === 'unavailable') warn(about, 'admin request failed', error.message);
    else if (EXPLAINED.has(error.code)) {
      logger.warn({ ...request, why: error.message }, 'admin request failed');
    } else if (error.status >= 500) logger.error(about, 'admin request failed');
    res.locals.failure = { code: error.code, reason: reasonOf(error) };
    if (res.headersSent) res.destroy();
    else send(res, error);
  };
}

function reasonOf(error: AppError): string | undefined {
  return error.cause instanceof Error ? error.cause.message : undefined;
}

/** Last under /api/v1, before its error handler. */
export const noSuchRoute: RequestHandler = (req) => {
  const path = req.originalUrl.split('?', 1)[0];
  throw new AppError('no_such_route', 404, `${path} is not a path of this API`);
};

/** Last of all. */
export const plainNotFound: RequestHandler = (_req, res) => {
  res.status(404).type('text/plain').send('Not found\n');
};
