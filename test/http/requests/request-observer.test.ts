import { once } from 'node:events';
import type { Server } from 'node:http';
import { AppError } from '../../../src/errors.js';
import { type RequestObserver, surfaceOf } from '../../../src/http/requests/request-observer.js';
import { listen } from '../../../src/http/server/listen.js';
import { createHttpServer, type HttpServerOptions } from '../../../src/http/server/server.js';
import { capturingLogger } from '../log-lines.js';
import { exchange, open, stop } from '../raw-client.js';

describe('a surface', () => {
  it.each([
    ['/mdm', 'mdm'],
    ['/mdm?x', 'mdm'],
    ['/checkin', 'checkin'],
    ['/scep?operation=GetCACaps', 'scep'],
    ['/enroll/profile', 'enroll'],
    ['/dep/enroll', 'dep'],
    ['/api/v1', 'api'],
    ['/api/v1/devices/7?include=tags', 'api'],
    ['/healthz', 'health'],
    ['/readyz', 'health'],
    ['/metrics', 'metrics'],
    ['/', 'other'],
    ['', 'other'],
    ['/mdmx', 'other'],
    ['/api/v2', 'other'],
    ['/%00/../etc/passwd', 'other'],
    ['*', 'other'],
  ])('of %s is %s', (url, surface) => {
    expect(surfaceOf(url)).toBe(surface);
  });
});

describe('the observer of the server', () => {
  const { logger } = capturingLogger();
  const seen: Parameters<RequestObserver>[] = [];
  let server: Server | undefined;

  afterEach(async () => {
    if (server) await stop(server);
    seen.length = 0;
  });

  async function start(options: Partial<HttpServerOptions>): Promise<Server> {
    const started = createHttpServer({
      app: (_req, res) => {
        res.writeHead(201).end();
      },
      deviceHandler: (_req, res) => {
        res.writeHead(200).end();
      },
      logger,
      onAnswer: (...call) => seen.push(call),
      ...options,
    });
    await listen(started, { port: 0, host: '127.0.0.1' });
    server = started;
    return started;
  }

  function ask(to: Server, line: string): Promise<string> {
    return exchange(to, `${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  }

  it.each([
    ['PUT /mdm', 'mdm', 200],
    ['PUT /checkin?a=b', 'checkin', 200],
    ['GET /mdm', 'mdm', 201],
    ['POST /api/v1/tags?secret=1', 'api', 201],
    ['GET /wp-login.php', 'other', 201],
  ])('is called for %s', async (line, surface, status) => {
    await ask(await start({}), line);
    const [[, , seconds = -1] = []] = seen;
    expect(seen).toEqual([[surface, status, seconds]]);
    expect(seconds >= 0 && seconds < 5).toBe(true);
  });

  it('is called with the status of a device request that was refused, and of one that failed', async () => {
    const faults = [new AppError('forbidden', 403, 'no'), new Error('broken')];
    const to = await start({
      deviceHandler: () => {
        throw faults.shift();
      },
    });
    await ask(to, 'PUT /mdm');
    await ask(to, 'PUT /mdm');
    expect(seen.map(([surface, status]) => [surface, status])).toEqual([
      ['mdm', 403],
      ['mdm', 503],
    ]);
  });

  it('measures from the request to the end of its answer', async () => {
    const to = await start({
      app: (_req, res) => {
        res.writeHead(200);
        res.write('a');
        setTimeout(() => res.end(), 60);
      },
    });
    await ask(to, 'GET /api/v1');
    const [[surface, status, seconds] = []] = seen;
    expect([surface, status]).toEqual(['api', 200]);
    expect(seconds).toBeGreaterThan(0.05);
  });

  it('is called for a client that left', async () => {
    let gone = () => {};
    const left = new Promise<void>((resolve) => {
      gone = resolve;
    });
    const to = await start({
      app: (_req, res) => {
        res.writeHead(200).write('never ends');
      },
      onAnswer: (...call) => {
        seen.push(call);
        gone();
      },
    });
    const socket = await open(to);
    socket.write('GET /enroll/profile HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
    await left;
    expect(seen.map(([surface, status]) => [surface, status])).toEqual([['enroll', 'aborted']]);
  });
});
