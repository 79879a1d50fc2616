import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { AppError } from '../../../src/errors.js';
import { readBody } from '../../../src/http/bodies/raw-body.js';
import { exchange, open, serve, stop } from '../raw-client.js';

const LIMIT = 1000;

type Outcome = { body: Buffer } | { error: AppError };

describe('readBody', () => {
  const outcomes: Outcome[] = [];
  let server: Server;

  const listener: RequestListener = (req, res) => {
    readBody(req, LIMIT).then(
      (body) => {
        outcomes.push({ body });
        res.writeHead(200, { Connection: 'close' }).end();
      },
      (error: AppError) => {
        outcomes.push({ error });
        res.writeHead(error.status, { Connection: 'close' }).end();
      },
    );
  };

  beforeAll(async () => {
    server = await serve(listener);
  });
  afterAll(() => stop(server));
  beforeEach(() => {
    outcomes.length = 0;
  });

  function bodies(): string[] {
    return outcomes.map((outcome) => ('body' in outcome ? outcome.body.toString() : 'error'));
  }

  function onlyError(): AppError {
    const [outcome] = outcomes;
    if (outcomes.length !== 1 || outcome === undefined || !('error' in outcome)) {
      throw new Error(`expected one refusal, got ${JSON.stringify(outcomes)}`);
    }
    return outcome.error;
  }

  it('refuses an announced body above the limit before reading it', async () => {
    const answer = await exchange(
      server,
      'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(onlyError()).toMatchObject({ code: 'payload_too_large', status: 413 });
  });

  it('refuses a chunked body as soon as it passes the limit', async () => {
    const chunk = `1f4\r\n${'x'.repeat(500)}\r\n`;
    const head = 'PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    const answer = await exchange(server, head + chunk + chunk, `1\r\nx\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(onlyError()).toMatchObject({ code: 'payload_too_large', status: 413 });
  });

  it('rejects when the client goes away in the middle', async () => {
    const socket = await open(server);
    const seen = once(server, 'request');
    socket.write('PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf');
    await seen;
    socket.destroy();
    while (outcomes.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(onlyError()).toMatchObject({ code: 'bad_request', status: 400 });
  });

  it('rejects when the client went away before reading began', async () => {
    const gone = await serve((req) => {
      req.on('close', () => {
        readBody(req, LIMIT).catch((error: AppError) => outcomes.push({ error }));
      });
    });
    const socket = await open(gone);
    const seen = once(gone, 'request');
    socket.write('PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n');
    await seen;
    socket.destroy();
    while (outcomes.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(onlyError()).toMatchObject({ code: 'bad_request', status: 400 });
    await stop(gone);
  });

  it('never hands over a request with two different lengths', async () => {
    const head = 'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n';
    expect(await exchange(server, `${head}body`)).toMatch(/^HTTP\/1\.1 400 /);
    expect(outcomes).toEqual([]);
  });

  it('reads a body of exactly the limit', async () => {
    const body = 'y'.repeat(LIMIT);
    const head = 'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n';
    expect(await exchange(server, head + body)).toMatch(/^HTTP\/1\.1 200 /);
    expect(bodies()).toEqual([body]);
  });

  it('joins a body that arrives in pieces', async () => {
    const head = 'PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    await exchange(server, head, '3\r\nabc\r\n', '2\r\nde\r\n0\r\n\r\n');
    expect(bodies()).toEqual(['abcde']);
  });

  it('reads a missing body as no bytes', async () => {
    await exchange(server, 'PUT / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(bodies()).toEqual(['']);
  });
});
