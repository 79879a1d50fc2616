import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { listen } from '../../../src/http/server/listen.js';
import { createHttpServer, type HttpServerOptions } from '../../../src/http/server/server.js';
import { capturingLogger } from '../log-lines.js';
import { exchange, open, portOf, stop, untilClosed } from '../raw-client.js';

const HEAD = 'HTTP/1.1\r\nHost: a\r\n';
const ID = /^[\da-f-]{36}$/;

const { logger, lines } = capturingLogger();
const running: Server[] = [];

async function start(app: RequestListener, limits: HttpServerOptions['limits'] = {}) {
  const server = createHttpServer({ app, deviceHandler: app, logger, limits });
  running.push(server);
  await listen(server, { port: 0, host: '127.0.0.1' });
  return server;
}

afterEach(async () => {
  await Promise.all(running.splice(0).map(stop));
  lines.length = 0;
});

const answerAll: RequestListener = (req, res) => {
  res.end(`length ${req.url?.length}`);
};

/** Answers at the first byte of a body's header, as a refusal does. */
const answerEarly: RequestListener = (_req, res) => {
  res.writeHead(401, { 'Content-Length': 2 }).end('no');
};

function parse(answer: string) {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  const [line = '', ...fields] = head.split('\r\n');
  const headers = Object.fromEntries(fields.map((field) => field.toLowerCase().split(': ')));
  return { status: Number(line.split(' ')[1]), headers, body };
}

function fault(answer: string) {
  const { status, headers, body } = parse(answer);
  expect(headers).toEqual({
    'content-type': 'application/vnd.api+json',
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': expect.stringMatching(ID),
    'cache-control': 'no-store',
    connection: 'close',
  });
  const { errors, jsonapi } = JSON.parse(body);
  const [{ id, ...error }] = errors;
  expect([id, jsonapi]).toEqual([headers['x-request-id'], { version: '1.0' }]);
  return [status, error];
}

async function silenceAfter(socket: Socket, text: string): Promise<string> {
  const answer = untilClosed(socket);
  socket.write(text);
  return answer;
}

describe('a request that cannot be read', () => {
  it('gets 431 with an error document when its URL and headers pass 64 KB', async () => {
    const server = await start(answerAll);
    const answer = await exchange(server, `GET /api/v1/tags?${'x'.repeat(66_000)} ${HEAD}\r\n`);
    expect(fault(answer)).toEqual([
      431,
      {
        status: '431',
        code: 'headers_too_large',
        title: 'Headers too large',
        detail: 'the URL and the headers are too large together',
      },
    ]);
    expect(lines).toMatchObject([{ level: 30, status: 431, reason: 'HPE_HEADER_OVERFLOW' }]);
  });

  it('gets 431 also while it is still being sent', async () => {
    const server = await start(answerAll);
    const parts = Array.from({ length: 40 }, () => 'x'.repeat(50_000));
    const answer = await exchange(server, 'GET /?', ...parts, ` ${HEAD}\r\n`);
    expect(fault(answer)).toMatchObject([431, { code: 'headers_too_large' }]);
  });

  it('is answered normally up to that size', async () => {
    const server = await start(answerAll);
    const url = `/?${'x'.repeat(60_000)}`;
    const answer = await exchange(server, `GET ${url} ${HEAD}Connection: close\r\n\r\n`);
    expect(parse(answer)).toMatchObject({ status: 200, body: expect.stringMatching(/60002/) });
  });

  it.each([
    [
      'no HTTP',
      'what is this\r\n\r\n',
      'the method is unknown: use GET, POST, PATCH or DELETE, and PUT at /mdm',
    ],
    [
      'an unknown method',
      `FETCH / ${HEAD}\r\n`,
      'the method is unknown: use GET, POST, PATCH or DELETE, and PUT at /mdm',
    ],
    ['a malformed header', `GET / ${HEAD}a b: c\r\n\r\n`, 'the request is not valid HTTP'],
    ['two lengths', `POST / ${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, undefined],
    ['a tunnel', 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n', 'this server is not a proxy'],
  ])('gets 400 for %s', async (_what, text, detail = 'the request is not valid HTTP') => {
    const answer = await exchange(await start(answerAll), text);
    expect(fault(answer)).toMatchObject([400, { status: '400', code: 'bad_request', detail }]);
  });

  it('gets 400 for a body that breaks its coding before it is answered', async () => {
    const server = await start((req) => req.resume());
    const answer = await exchange(server, `POST / ${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`);
    expect(fault(answer)).toMatchObject([400, { code: 'bad_request' }]);
  });

  it('gets 408 when it takes too long', async () => {
    const limits = { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 20 };
    const server = await start(answerAll, limits);
    const answer = await exchange(server, `GET / ${HEAD}`);
    expect(fault(answer)).toMatchObject([408, { status: '408', code: 'bad_request' }]);
  });
});

describe('an error document for a request that cannot be read', () => {
  it('is never sent behind an answer to the same request', async () => {
    const server = await start(answerEarly);
    const socket = await open(server);
    socket.write(`POST / ${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\n`);
    const [first] = await once(socket, 'data');
    expect(parse(String(first))).toMatchObject({ status: 401, body: 'no' });
    expect(await silenceAfter(socket, 'a\r\nzz\r\n')).toBe('');
  });

  it('is never sent behind it when the rest takes too long', async () => {
    const limits = { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 20 };
    const socket = await open(await start(answerEarly, limits));
    const answer = await silenceAfter(socket, `POST / ${HEAD}Content-Length: 9\r\n\r\n1`);
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(parse(answer)).toMatchObject({ status: 401, body: 'no' });
  });

  it('never replaces an answer that is still to be sent', async () => {
    const server = await start((_req, res) => {
      setTimeout(() => res.end('late'), 50);
    });
    const answer = await exchange(server, `GET / ${HEAD}\r\nwhat is this\r\n\r\n`);
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(parse(answer)).toMatchObject({ status: 200, headers: { connection: 'close' } });
    expect(answer).toContain('late');
  });

  it('is sent for the next request of a connection', async () => {
    const socket = await open(await start(answerAll));
    socket.write(`GET / ${HEAD}\r\n`);
    const [first] = await once(socket, 'data');
    expect(String(first)).toContain('length 1');
    expect(fault(await silenceAfter(socket, 'what is this\r\n\r\n'))).toMatchObject([400, {}]);
  });

  it('ends the connection though the client keeps its side open', async () => {
    const server = await start(answerAll);
    const accepted = once(server, 'connection');
    const client = connect({ port: portOf(server), host: '127.0.0.1', allowHalfOpen: true });
    client.on('error', () => undefined).resume();
    client.write('what is this\r\n\r\n');
    const [socket] = await accepted;
    await once(socket, 'close');
    client.destroy();
    expect(lines).toHaveLength(1);
  });
});
