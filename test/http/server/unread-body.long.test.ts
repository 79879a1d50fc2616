import { request, type Server } from 'node:http';
import { listen } from '../../../src/http/server/listen.js';
import { createHttpServer } from '../../../src/http/server/server.js';
import { type Held, hold } from '../../helpers/held-requests.js';
import { capturingLogger } from '../log-lines.js';
import { portOf, stop } from '../raw-client.js';

const MIB = 1024 * 1024;

describe('a body that still arrives after its answer', () => {
  let server: Server;

  beforeAll(async () => {
    server = createHttpServer({
      app: (_req, res) => void res.writeHead(413).end(),
      deviceHandler: () => Promise.reject(new Error('refused')),
      logger: capturingLogger().logger,
    });
    await listen(server, { port: 0, host: '127.0.0.1' });
  });
  afterAll(() => stop(server));

  /** Sends all but the last byte of a body. */
  function sendTo(method: string, path: string, bytes: number): Held {
    const url = `http://127.0.0.1:${portOf(server)}`;
    return hold({ url }, { method, path, length: bytes, sent: Buffer.alloc(bytes - 1) });
  }

  it.each([
    ['PUT', '/mdm', 503],
    ['POST', '/upload', 413],
  ])('of %s %s is answered, and its connection is closed', async (method, path, status) => {
    const { answered, closed } = sendTo(method, path, 4 * MIB);
    expect(await answered).toBe(status);
    await closed;
  });

  it('is discarded, so that a client that sends all before it reads gets the answer', async () => {
    const status = await new Promise((resolve, reject) => {
      const sending = request({ port: portOf(server), method: 'POST', path: '/upload' }, (res) => {
        res.resume();
        resolve(res.statusCode);
      });
      sending.on('error', reject);
      sending.end(Buffer.alloc(6 * MIB));
    });
    expect(status).toBe(413);
  });

  it('is not read when many arrive at once', async () => {
    const all = Array.from({ length: 60 }, () => sendTo('POST', '/upload', 16 * MIB));
    const found = await Promise.all(
      all.map(async ({ answered, socket }) => {
        const status = await answered;
        await new Promise((resolve) => setTimeout(resolve, 300));
        return { status, isWaiting: socket.writableLength > 0 };
      }),
    );
    expect(new Set(found.map(({ status }) => status))).toEqual(new Set([413]));
    expect(found.filter(({ isWaiting }) => isWaiting).length).toBeGreaterThan(40);
    await Promise.all(all.map(({ closed }) => closed));
  });

  it('keeps its connection when it is short', async () => {
    const { socket, answered } = sendTo('POST', '/upload', 1_000);
    expect(await answered).toBe(413);
    socket.write('x');
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    const second = new Promise<string>((resolve) => socket.once('data', resolve));
    socket.write('POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n');
    expect(await second).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });
});
