import type { Server } from 'node:http';
import { readBody } from '../../../src/http/bodies/raw-body.js';
import { listen } from '../../../src/http/server/listen.js';
import { createHttpServer } from '../../../src/http/server/server.js';
import { capturingLogger } from '../log-lines.js';
import { exchange, open, stop, untilClosed } from '../raw-client.js';

const DEADLINE = { ms: 200, flowBytes: 1_000, checkEveryMs: 20 };
const HEAD = 'Host: a\r\nContent-Length: 100000\r\n\r\n';
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a body that stops arriving', () => {
  const { logger, lines } = capturingLogger();
  let server: Server;

  beforeAll(async () => {
    server = createHttpServer({
      app: (req, res) => {
        if (req.url === '/never-read') return;
        if (req.url === '/slow-reader') {
          setTimeout(() => req.resume(), 4 * DEADLINE.ms);
          req.on('end', () => res.end('read'));
          return;
        }
        readBody(req, 200_000).then(
          () => res.end('whole'),
          () => undefined,
        );
      },
      deviceHandler: async (req) => void (await readBody(req, 200_000)),
      logger,
      bodyDeadline: DEADLINE,
    });
    await listen(server, { port: 0, host: '127.0.0.1' });
  });
  afterAll(() => stop(server));
  beforeEach(() => {
    lines.length = 0;
  });

  it.each(['PUT /mdm', 'PUT /checkin', 'POST /scep', 'POST /api/v1/tags', 'POST /never-read'])(
    'is answered 408 at %s, and its connection is closed',
    async (target) => {
      const startedAt = performance.now();
      const answer = await exchange(server, `${target} HTTP/1.1\r\n${HEAD}`, 'begin');
      expect(answer).toMatch(/^HTTP\/1\.1 408 /);
      expect(performance.now() - startedAt).toBeLessThan(DEADLINE.ms + 1_500);
    },
  );

  it('is logged with what to do, once for many', async () => {
    await wait(0);
    await Promise.all(
      Array.from({ length: 5 }, () => exchange(server, `POST /scep HTTP/1.1\r\n${HEAD}`, 'begin')),
    );
    const logged = lines.filter(({ msg }) => msg.includes('stopped arriving'));
    expect(logged.filter(({ level }) => level > 30).length).toBeLessThanOrEqual(1);
    expect(logged[0]).toMatchObject({
      method: 'POST',
      path: '/scep',
      peer: '127.0.0.1',
      status: 408,
    });
    expect(logged[0]?.msg).toMatch(/block it at the firewall/);
  });

  it('is not refused while it flows', async () => {
    const socket = await open(server);
    const answer = untilClosed(socket);
    socket.write(`POST /scep HTTP/1.1\r\nConnection: close\r\n${HEAD}`);
    for (let part = 0; part < 10; part += 1) {
      socket.write(Buffer.alloc(10_000));
      await wait(80);
    }
    expect(await answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*whole/);
  });

  it('counts as stalled when it arrives byte by byte', async () => {
    const socket = await open(server);
    const answer = untilClosed(socket);
    socket.write(`POST /scep HTTP/1.1\r\n${HEAD}`);
    const drip = setInterval(() => socket.write('x'), 20);
    socket.on('error', () => undefined);
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
    clearInterval(drip);
  });

  it('does not count as stalled while the server has yet to read it', async () => {
    const head = 'POST /slow-reader HTTP/1.1\r\nConnection: close\r\n';
    const answer = await exchange(server, head + HEAD, Buffer.alloc(100_000));
    expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*read/);
  });
});
