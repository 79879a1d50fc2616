import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { ControlFault, readBody, sendFault, sendJson } from '../wire/control-http.js';
import type { AnswerRule } from './answer-rules.js';
import { isDeviceToken } from './courier-lines.js';
import type { AnsweredPushes } from './push-counts.js';
import type { ConnectionRefusal } from './push-server.js';
import type { StoreCounters, TokenReport } from './token-store.js';

interface StandInReport extends AnsweredPushes, StoreCounters {
  /** Connections of servers that push. */
  connections: number;
}

/** Controls how the stand-in answers, and reports what it received. */
export interface ApnsStandInControl {
  /** Rules are used in the order they were added. */
  addAnswer(rule: AnswerRule): void;
  answers(): AnswerRule[];
  clearAnswers(): void;
  /** Sends GOAWAY on every connection. */
  goAway(reason?: string): void;
  /** Resets the connections of pushers. */
  destroyConnections(): void;
  /** New connections of pushers from now on; open ones stay. */
  refuseConnections(how: ConnectionRefusal): void;
  report(): StandInReport;
  token(token: string): TokenReport | undefined;
  tokens(): Iterable<TokenReport>;
  /** Waiting pushes stay. */
  resetCounters(): void;
}

const TEN_MINUTES_MS = 600_000;

const answerBody = z
  .strictObject({
    token: z.string().refine(isDeviceToken, 'must be a device token').optional(),
    topic: z.string().optional(),
    all: z.literal(true).optional(),
    status: z.int().min(200).max(599).default(200),
    reason: z.string().max(100).optional(),
    times: z.int().min(1).optional(),
    retry_after: z.int().min(0).optional(),
    delay_ms: z.int().min(0).max(TEN_MINUTES_MS).optional(),
    timestamp: z.int().optional(),
  })
  .refine(
    ({ token, topic, all }) => (token ?? topic ?? all) !== undefined,
    'needs token, topic or all',
  );

const connectionsBody = z.strictObject({
  goaway: z.literal(true).optional(),
  reason: z.string().max(100).default('Shutdown'),
  destroy: z.literal(true).optional(),
  refuse: z.enum(['tls', 'connection']).nullable().optional(),
});

type Route = (
  control: ApnsStandInControl,
  request: IncomingMessage,
  response: ServerResponse,
) => Promise<void> | void;

const addAnswer: Route = async (control, request, response) => {
  const body = await readBody(request, answerBody);
  const { all: _all, retry_after: retryAfter, delay_ms: delayMs, ...rule } = body;
  control.addAnswer({ ...rule, retryAfter, delayMs });
  sendJson(response, 201, body);
};

const changeConnections: Route = async (control, request, response) => {
  const { goaway, reason, destroy, refuse } = await readBody(request, connectionsBody);
  if (refuse !== undefined) control.refuseConnections(refuse);
  if (goaway) control.goAway(reason);
  if (destroy) control.destroyConnections();
  sendJson(response, 200, control.report());
};

const showPushes: Route = (control, request, response) => {
  const token = new URL(request.url ?? '', 'http://localhost').searchParams.get('token');
  if (token === null) {
    sendJson(response, 200, control.report());
    return;
  }
  const found = control.token(token);
  if (found === undefined)
    throw new ControlFault(404, 'no push or device with this token was seen');
  sendJson(response, 200, found);
};

const listTokens: Route = async (control, _request, response) => {
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
  for (const token of control.tokens()) {
    if (response.destroyed) return;
    if (response.write(`${JSON.stringify(token)}\n`)) continue;
    await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
  }
  response.end();
};

function withoutBody(work: (control: ApnsStandInControl) => void): Route {
  return (control, _request, response) => {
    work(control);
    response.writeHead(204).end();
  };
}

const ROUTES: Record<string, Record<string, Route>> = {
  '/lab/answers': {
    GET: (control, _request, response) => sendJson(response, 200, control.answers()),
    POST: addAnswer,
    DELETE: withoutBody((control) => control.clearAnswers()),
  },
  '/lab/connections': { POST: changeConnections },
  '/lab/pushes': {
    GET: showPushes,
    DELETE: withoutBody((control) => control.resetCounters()),
  },
  '/lab/tokens': { GET: listTokens },
};

/** Answers the requests of /lab/answers, /lab/connections, /lab/pushes and /lab/tokens. */
export async function serveControl(
  control: ApnsStandInControl,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = request.url?.split('?', 1)[0] ?? '';
  try {
    const methods = ROUTES[path];
    if (methods === undefined) throw new ControlFault(404, `${Object.keys(ROUTES).join(', ')}`);
    const route = methods[request.method ?? ''];
    if (route === undefined) throw new ControlFault(405, Object.keys(methods).join(', '));
    await route(control, request, response);
  } catch (error) {
    sendFault(response, error);
  }
}
