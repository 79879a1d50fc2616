import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { health } from '../../src/cli/health.js';
import { loadConfig } from '../../src/config/config.js';
import { encodePem } from '../../src/crypto/asn1/pem.js';
import { exportPrivateKey } from '../../src/crypto/keys/keys.js';
import { createHttpServer } from '../../src/http/server/server.js';
import { createLogger } from '../../src/logger.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';
import { localhostIdentity, temporaryTls } from '../helpers/tls.js';

const servers: { close(): unknown }[] = [];
afterAll(() => {
  for (const server of servers) server.close();
  removeTemporaryDirectories();
});

interface Answer {
  status: number;
  body: unknown;
}

type Answers = Record<string, Answer>;

const READY = { status: 200, body: { status: 'ready', checks: { database: 'ok' } } };
const WELL: Answers = { '/readyz': READY, '/healthz': { status: 200, body: { status: 'ok' } } };
const DISK_FULL: Answers = {
  ...WELL,
  '/readyz': {
    status: 503,
    body: {
      status: 'not ready',
      checks: { database: 'ok', writes: 'failed' },
      reasons: { writes: 'The disk of the database is full:\nfree space there' },
    },
  },
};

function listening(server: Server): Promise<string> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  return once(server, 'listening').then(() => String((server.address() as AddressInfo).port));
}

/** The product's own HTTP server with answers of its own. */
async function serverWith(answers: Answers, tls?: { cert: string; key: string }): Promise<string> {
  const logger = createLogger('silent');
  const app = createServer((req, res) => {
    const { status, body } = answers[req.url ?? ''] ?? { status: 404, body: 'none' };
    res.writeHead(status).end(JSON.stringify(body));
  });
  const [listener] = app.listeners('request') as Parameters<typeof createServer>[1][];
  const server = createHttpServer({
    app: listener as Parameters<typeof createHttpServer>[0]['app'],
    deviceHandler: () => undefined,
    logger,
    ...(tls && { tls }),
  });
  return await listening(server);
}

async function selfSigned(): Promise<{ cert: string; key: string }> {
  const { certificate, privateKey } = await localhostIdentity();
  return {
    cert: encodePem('CERTIFICATE', certificate.der),
    key: encodePem('PRIVATE KEY', exportPrivateKey(privateKey)),
  };
}

async function check(env: Record<string, string>, options: { live?: boolean } = {}) {
  const lines: string[] = [];
  const codes: number[] = [];
  await health(options, {
    readConfig: () => loadConfig({ DATA_DIR: temporaryDirectory(), ...env }, __dirname),
    write: (line) => lines.push(line),
    finish: (code) => codes.push(code),
  });
  return { lines, codes };
}

describe('muster health', () => {
  it('ends with 1 and the next step when nothing listens', async () => {
    const port = await serverWith(WELL);
    const closed = servers.pop() as Server;
    await new Promise((resolve) => closed.close(resolve));
    const { lines, codes } = await check({ PORT: port });
    expect(codes).toEqual([1]);
    expect(lines).toEqual([
      `not healthy: http://127.0.0.1:${port}/readyz: connect ECONNREFUSED 127.0.0.1:${port}. ` +
        'Start the server, or give this command its settings',
    ]);
  });

  it('names the check that fails, on one line, and ends with 1', async () => {
    const port = await serverWith(DISK_FULL);
    expect(await check({ PORT: port })).toEqual({
      codes: [1],
      lines: [
        `not healthy: http://127.0.0.1:${port}/readyz answers 503: writes. ` +
          'The disk of the database is full: free space there',
      ],
    });
  });

  it('ends with 0 with --live while the process answers, ready or not', async () => {
    const port = await serverWith(DISK_FULL);
    const { lines, codes } = await check({ PORT: port }, { live: true });
    expect({ lines, codes }).toEqual({
      codes: [0],
      lines: [`healthy: http://127.0.0.1:${port}/healthz answers 200`],
    });
  });

  it('refuses the answer of another program', async () => {
    const port = await serverWith({ '/readyz': { status: 200, body: 'hello' } });
    expect(await check({ PORT: port })).toEqual({
      codes: [1],
      lines: [
        `not healthy: http://127.0.0.1:${port}/readyz is answered by something else than Muster: 200`,
      ],
    });
  });

  it.each([
    ['0.0.0.0', '127.0.0.1'],
    ['localhost', 'localhost'],
  ])('asks a server with HOST=%s at %s', async (HOST, host) => {
    const PORT = await serverWith(WELL);
    expect(await check({ HOST, PORT })).toEqual({
      codes: [0],
      lines: [`healthy: http://${host}:${PORT}/readyz answers 200`],
    });
  });

  it('accepts the certificate of TLS_CERT_FILE as it is', async () => {
    const PORT = await serverWith(WELL, await selfSigned());
    const { lines, codes } = await check({ PORT, ...(await temporaryTls()) });
    expect({ lines, codes }).toEqual({
      codes: [0],
      lines: [`healthy: https://127.0.0.1:${PORT}/readyz answers 200`],
    });
  });

  it('finds that a stored certificate makes the server speak HTTPS', async () => {
    const PORT = await serverWith(WELL, await selfSigned());
    expect(await check({ PORT })).toEqual({
      codes: [0],
      lines: [`healthy: https://127.0.0.1:${PORT}/readyz answers 200`],
    });
  });

  it('uses plain HTTP with TLS=off, and nothing else', async () => {
    const PORT = await serverWith(WELL, await selfSigned());
    const { lines, codes } = await check({ PORT, TLS: 'off' });
    expect(codes).toEqual([1]);
    expect(lines[0]).toMatch(/^not healthy: http:\/\/127\.0\.0\.1:\d+\/readyz: \S/);
  });

  it('waits four seconds for a server that does not answer', async () => {
    const silent = createTcpServer();
    const PORT = await listening(silent as unknown as Server);
    const { lines, codes } = await check({ PORT });
    expect({ lines, codes }).toEqual({
      codes: [1],
      lines: [`not healthy: http://127.0.0.1:${PORT}/readyz: no answer within 4000 ms`],
    });
  });

  it('ends with 1 for settings that no start accepts', async () => {
    const { lines, codes } = await check({ PORT: 'eight', LAB: 'maybe' });
    expect(codes).toEqual([1]);
    expect(lines).toEqual([
      expect.stringMatching(/^not healthy: the configuration is not usable: PORT: .+; LAB: /),
    ]);
    expect(await check({ PORT: '0' })).toEqual({
      codes: [1],
      lines: ['not healthy: PORT=0: the port is another at each start. Set PORT.'],
    });
  });
});
