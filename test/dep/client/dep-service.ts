import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

export interface SeenRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: unknown;
}

export interface GivenAnswer {
  status?: number;
  headers?: Record<string, string>;
  /** An object is sent as JSON. */
  body?: string | object;
}

/** Or the answer is written by hand. */
export type Answerer = (request: SeenRequest, response: ServerResponse) => GivenAnswer | undefined;

/** A server that answers as a test says; it knows nothing of Apple's protocol but sessions. */
export interface DepService {
  host: string;
  seen: SeenRequest[];
  paths(): string[];
  /** To the calls; sessions are granted as `session-1`, `session-2`, … meanwhile. */
  answer(answerer: Answerer): void;
  /** To GET /session; undefined: grant. */
  answerLogin(answerer: Answerer | undefined): void;
  /** Accepted connections. */
  connections(): number;
  /** Resolves when one of them ends, at once where there is none. */
  disconnection(): Promise<void>;
  reset(): void;
  stop(): Promise<void>;
}

function write(response: ServerResponse, { status = 200, headers = {}, body = '' }: GivenAnswer) {
  response.writeHead(status, headers);
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

export async function startDepService(
  tls?: { key: string; cert: string } | undefined,
): Promise<DepService> {
  const seen: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let logins = 0;
  const grant: Answerer = () => {
    logins += 1;
    return { body: { auth_session_token: `session-${logins}` } };
  };
  let answerCall: Answerer = () => ({ body: {} });
  let answerSession: Answerer = grant;

  const server = tls ? createSecureServer(tls) : createServer();
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('request', (request, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const { method = '', url: path = '', headers } = request;
      const entry = { method, path, headers, body: text === '' ? undefined : JSON.parse(text) };
      seen.push(entry);
      const given = (path === '/session' ? answerSession : answerCall)(entry, response);
      if (given !== undefined) write(response, given);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    host: tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`,
    seen,
    paths: () => seen.map(({ method, path }) => `${method} ${path}`),
    answer: (answerer) => {
      answerCall = answerer;
    },
    answerLogin: (answerer = grant) => {
      answerSession = answerer;
    },
    connections: () => connections,
    disconnection: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.once('close', () => resolve());
        if (sockets.size === 0) resolve();
      }),
    reset: () => {
      seen.length = 0;
      logins = 0;
      connections = 0;
      answerCall = () => ({ body: {} });
      answerSession = grant;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** One answer after another; the last one for all that follow. */
export function inTurn(...answers: GivenAnswer[]): Answerer {
  let turn = 0;
  return () => {
    turn += 1;
    return answers[Math.min(turn, answers.length) - 1];
  };
}
