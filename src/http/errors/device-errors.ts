import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorRequestHandler } from 'express';
import { AppError } from '../../errors.js';
import { createWarner, type Logger, type Warner } from '../../logger.js';

/** Seconds that a device is to wait after a failure of the server. */
const RETRY_AFTER = '30';

// Apple's mdm/errors/unrecognized.device.yaml: `code` is the one required key.
const UNRECOGNIZED_DEVICE = Buffer.from(
  JSON.stringify({ code: 'com.apple.unrecognized.device' }),
  'ascii',
);

/** During an outage of the database every device fails, again and again. */
const OUTAGE_QUIET_MS = 5_000;

/** The log of one surface or of several. It limits repeated lines. */
export interface DeviceErrorLog {
  logger: Logger;
  warn: Warner;
  writeRefusal: RefusalLog;
}

export interface DeviceErrorContext extends DeviceErrorLog {
  req: IncomingMessage;
  /** Send the message as plain text: a person may read it, as of an enrollment profile. */
  isExplained?: boolean | undefined;
  /** Renders the message as HTML, for a page that a person reads. */
  asPage?: ((explanation: string) => string) | undefined;
}

export function createDeviceErrorLog(logger: Logger): DeviceErrorLog {
  const warn = createWarner(logger, OUTAGE_QUIET_MS);
  return { logger, warn, writeRefusal: createRefusalLog(logger) };
}

/** Apple's 403 that makes a device (iOS 17, macOS 14 and later) remove its enrollment. */
export function sendUnrecognizedDevice(res: ServerResponse): void {
  res.writeHead(403, {
    'Content-Type': 'application/json',
    'Content-Length': UNRECOGNIZED_DEVICE.length,
  });
  res.end(UNRECOGNIZED_DEVICE);
}

// Errors of Express, body-parser and the URI decoder have a 4xx status.
function statusOf(error: unknown): number {
  const status = error instanceof Error && 'status' in error ? error.status : 503;
  if (typeof status !== 'number' || status < 400 || status >= 500) return 503;
  // A device that reads 401 removes its enrollment.
  return status === 401 ? 403 : status;
}

function log(
  error: unknown,
  status: number,
  { logger, warn, writeRefusal, req }: DeviceErrorContext,
): void {
  const peer = req.socket.remoteAddress;
  const where = { method: req.method, path: pathOf(req), peer, status, ...senderOf(error, req) };
  const code = error instanceof AppError ? error.code : 'bad_request';
  if (status === 503) {
    const about = { ...where, err: error };
    // The budget that refused it has logged the reason, once for all requests that it refuses.
    if (code === 'server_busy') logger.debug(where, 'device request refused');
    else if (code !== 'unavailable') logger.error(about, 'device request failed');
    else warn(about, 'device request failed', error instanceof Error ? error.message : code);
    return;
  }
  const { message, cause } = error instanceof Error ? error : new Error('refused');
  const reason = cause instanceof Error ? cause.message : undefined;
  writeRefusal({ ...where, code, detail: message, reason });
}

const senders = new WeakMap<IncomingMessage, Sender>();

/** What a device claims to be, and the certificate it shows, for the log. No secrets. */
export type Sender = Record<string, string | number | undefined>;

/** Sets the sender that the log names if this request is refused. */
export function noteSender(req: IncomingMessage, sender: Sender): void {
  senders.set(req, sender);
}

function senderOf(error: unknown, req: IncomingMessage): Sender {
  const sender = senders.get(req);
  return error instanceof AppError ? { ...sender, ...error.about } : { ...sender };
}

/** The whole path: inside a router of Express `url` lacks the part that the router is mounted at. */
function pathOf(req: IncomingMessage & { originalUrl?: string }): string {
  return (req.originalUrl ?? req.url ?? '').split('?', 1)[0] ?? '';
}

/**
 * Answers a device with a bare status: the 4xx of an AppError, 503 with Retry-After for anything
 * else. The cause goes to the log only.
 */
export function sendDeviceError(
  res: ServerResponse,
  error: unknown,
  context: DeviceErrorContext,
): void {
  const status = statusOf(error);
  log(error, status, context);
  if (res.headersSent) {
    res.destroy();
    return;
  }
  const extra = error instanceof AppError ? error.headers : {};
  const retry = status === 503 ? { 'Retry-After': RETRY_AFTER } : {};
  const { type, body } = explain(error, status, context);
  res.writeHead(status, {
    'Content-Type': type,
    'Content-Length': body.length,
    ...extra,
    // It replaces the Retry-After for clients of the admin API: there are many devices.
    ...retry,
  });
  res.end(body);
}

function explain(
  error: unknown,
  status: number,
  { isExplained, asPage }: DeviceErrorContext,
): { type: string; body: Buffer } {
  if (asPage !== undefined) {
    const text = error instanceof AppError ? error.message : 'this server cannot answer now';
    return { type: 'text/html; charset=utf-8', body: Buffer.from(asPage(text)) };
  }
  const isShown = isExplained === true && error instanceof AppError && status !== 503;
  return { type: 'text/plain', body: Buffer.from(isShown ? `${error.message}\n` : '') };
}

/** The same answers for device surfaces that are Express routers (SCEP, enrollment). */
export function deviceErrorHandler(
  logger: Logger,
  options: Pick<DeviceErrorContext, 'isExplained' | 'asPage'> = {},
): ErrorRequestHandler {
  const log = createDeviceErrorLog(logger);
  return (error, req, res, _next) => sendDeviceError(res, error, { ...options, ...log, req });
}

const WINDOW_MS = 10_000;
/** Lines of one surface within the window. */
export const MAX_LINES = 100;

/** Writes a line for a refused request. */
type RefusalLog = (fields: object) => void;

/** Logs at level info, beyond the limit at level debug, so that a flood does not fill the disk. */
function createRefusalLog(logger: Logger, most = MAX_LINES): RefusalLog {
  let count = 0;
  let startedAt = Number.NEGATIVE_INFINITY;
  return (fields) => {
    const now = performance.now();
    if (now - startedAt >= WINDOW_MS) [count, startedAt] = [0, now];
    count += 1;
    logger[count <= most ? 'info' : 'debug'](fields, 'device request refused');
    if (count !== most + 1) return;
    const message =
      `more than ${most} device requests were refused within ${WINDOW_MS / 1000} s; the others are ` +
      'logged at level debug. If the address (peer) is not one of your devices, block it at the firewall';
    logger.warn(fields, message);
  };
}
