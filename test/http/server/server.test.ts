import { once } from 'node:events';
import type { Server } from 'node:http';
import { request } from 'node:http';
import { AppError } from '../../../src/errors.js';
import { drain, listen } from '../../../src/http/server/listen.js';
import {
  createHttpServer,
  type DeviceHandler,
  type HttpServerOptions,
} from '../../../src/http/server/server.js';
import { capturingLogger } from '../log-lines.js';
import { exchange, open, portOf, stop, untilClosed } from '../raw-client.js';

const LOOPBACK = { port: 0, host: '127.0.0.1' };

const deviceHandler: DeviceHandler = (_req, res) => {
  res.writeHead(200, { 'X-By': 'device' }).end();
};

describe('the HTTP server', () => {
  const { logger, lines } = capturingLogger();
  const running: Server[] = [];

  async function start(options: Partial<HttpServerOptions> = {}): Promise<Server> {
    const server = createHttpServer({
      app: (_req, res) => {
        res.writeHead(200, { 'X-By': 'app' }).end();
      },
      deviceHandler,
      logger,
      ...options,
    });
    running.push(server);
    await listen(server, LOOPBACK);
    return server;
  }

  async function answeredBy(server: Server, method: string, path: string): Promise<string> {
    const answer = await exchange(
      server,
      `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    return /^X-By: (\w+)/m.exec(answer)?.[1] ?? answer;
  }

  afterEach(async () => {
    await Promise.all(running.splice(0).map(stop));
    lines.length = 0;
  });

  it('ends a connection whose body continues after its answer', async () => {
    const server = await start();
    const head = 'POST /endless HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    const socket = await open(server);
    socket.on('error', () => {}); // written to once it is closed
    const answer = untilClosed(socket);
    socket.write(head);
    const sending = setInterval(() => socket.write('5\r\nhello\r\n'), 50);
    expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
    clearInterval(sending);
  });

  it.each([
    ['GET', '/mdm'],
    ['POST', '/mdm'],
    ['PUT', '/mdm/'],
    ['PUT', '/MDM'],
    ['PUT', '/mdmx'],
    ['PUT', '/%6ddm'],
    ['PUT', '/checkin/1'],
    ['PUT', '/api/v1/tags'],
  ])('leaves %s %s to Express', async (method, path) => {
    expect(await answeredBy(await start(), method, path)).toBe('app');
  });

  it.each(['/mdm', '/checkin', '/mdm?aa=bb', '/checkin?id=1'])(
    'hands PUT %s to the device handler',
    async (path) => {
      expect(await answeredBy(await start(), 'PUT', path)).toBe('device');
    },
  );

  it('answers 503 with Retry-After when the device handler fails, and logs the cause', async () => {
    const server = await start({ deviceHandler: () => Promise.reject(new Error('disk full')) });
    const answer = await exchange(
      server,
      'PUT /mdm HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
    expect(answer).toMatch(/^Retry-After: 30\r$/m);
    expect(answer).not.toContain('disk full');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ level: 50, path: '/mdm', err: { message: 'disk full' } });
  });

  it('survives a device handler that throws before its first await', async () => {
    const server = await start({
      deviceHandler: () => {
        throw new AppError('invalid_plist', 400, 'not a plist');
      },
    });
    const answer = await exchange(
      server,
      'PUT /mdm HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('answers 431 to headers above 64 KB', async () => {
    const server = await start();
    const answer = await exchange(
      server,
      `PUT /mdm HTTP/1.1\r\nHost: a\r\nMdm-Signature: ${'A'.repeat(66_000)}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('accepts a signature header of 12 KB', async () => {
    const server = await start();
    const answer = await exchange(
      server,
      `PUT /mdm HTTP/1.1\r\nHost: a\r\nConnection: close\r\nMdm-Signature: ${'A'.repeat(12_000)}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('closes a connection whose headers never end', async () => {
    const server = await start({
      limits: { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 20 },
    });
    const answer = await exchange(server, 'PUT /mdm HTTP/1.1\r\nHost: a\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('answers 400 to bytes that are no HTTP', async () => {
    expect(await exchange(await start(), 'what is this\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('has the expected time limits', async () => {
    const server = await start();
    expect(server.headersTimeout).toBe(20_000);
    expect(server.requestTimeout).toBe(120_000);
    expect(server.keepAliveTimeout).toBe(75_000);
  });

  it('rejects a port that is taken', async () => {
    const server = await start();
    const second = createHttpServer({ app: () => undefined, deviceHandler, logger });
    await expect(listen(second, { ...LOOPBACK, port: portOf(server) })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
  });

  describe('drain', () => {
    it('finishes the running request, closes idle connections and refuses new ones', async () => {
      let finish: () => void = () => undefined;
      const server = await start({
        deviceHandler: (_req, res) => {
          finish = () => res.end('done');
        },
      });
      const port = portOf(server);
      const idle = await open(server);
      const idleClosed = untilClosed(idle);
      const busy = await open(server);
      const answer = untilClosed(busy);
      const arrived = once(server, 'request');
      busy.write('PUT /mdm HTTP/1.1\r\nHost: a\r\n\r\n');
      await arrived;

      const drained = drain(server, 5_000);
      await idleClosed;
      await expect(connectTo(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
      finish();
      expect(await answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*done/);
      expect(await drained).toBe(true);
    });

    it('cuts off what does not finish in time', async () => {
      const server = await start({ deviceHandler: () => undefined });
      const stuck = await open(server);
      const closed = untilClosed(stuck);
      const arrived = once(server, 'request');
      stuck.write('PUT /mdm HTTP/1.1\r\nHost: a\r\n\r\n');
      await arrived;
      expect(await drain(server, 100)).toBe(false);
      expect(await closed).toBe('');
    });
  });
});

function connectTo(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const req = request({ port, host: '127.0.0.1' }, (res) => {
      res.resume();
      resolve();
    });
    req.on('error', reject);
    req.end();
  });
}
