import type { ServerResponse } from 'node:http';
import { sendUnrecognizedDevice } from '../http/errors/device-errors.js';

/** A successful answer; failures are AppErrors and answered with a bare status. */
export type Answer =
  | { kind: 'empty' }
  | { kind: 'plist'; body: Buffer }
  /** A document of declarative management. */
  | { kind: 'json'; body: Buffer }
  /** Apple's 403 body: the device removes its enrollment. */
  | { kind: 'unrecognized' };

export const EMPTY: Answer = { kind: 'empty' };
export const UNRECOGNIZED: Answer = { kind: 'unrecognized' };

/** An empty answer is 200 too: devices treat 204 as a failure. */
export function sendAnswer(res: ServerResponse, answer: Answer): void {
  if (answer.kind === 'unrecognized') {
    sendUnrecognizedDevice(res);
    return;
  }
  if (answer.kind === 'empty') {
    res.writeHead(200, { 'Content-Length': 0 });
    res.end();
    return;
  }
  res.writeHead(200, {
    'Content-Type': answer.kind === 'json' ? 'application/json' : 'application/xml',
    'Content-Length': answer.body.length,
  });
  res.end(answer.body);
}
