import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { encodePem } from '../../../src/crypto/asn1/pem.js';
import { exportPrivateKey } from '../../../src/crypto/keys/keys.js';
import { HttpClient } from '../../../src/lab/wire/http-client.js';
import { localhostIdentity } from '../../helpers/tls.js';

let server: Server;
let url: string;
let retries: number;

async function listen(listener: RequestListener): Promise<void> {
  server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function createClient(retryMs: number): HttpClient {
  const { signal } = new AbortController();
  return new HttpClient({ retryMs, signal, onRetry: () => (retries += 1) });
}

beforeEach(() => {
  retries = 0;
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

describe('the HTTP client of a simulated device', () => {
  it('gives up on a server that is away once its retry time is over', async () => {
    await listen((_req, res) => res.end());
    server.closeAllConnections();
    server.close();
    const client = createClient(0);
    await expect(client.send({ method: 'GET', url })).rejects.toThrow(/does not answer/);
    client.close();
  });

  it('repeats a request until the server answers', async () => {
    const bodies: string[] = [];
    await listen((req, res) => {
      req.setEncoding('utf8').on('data', (text: string) => bodies.push(text));
      req.on('end', () => {
        if (bodies.length === 1) req.socket.destroy();
        else res.writeHead([503, 408][bodies.length - 2] ?? 200).end('done');
      });
    });
    const client = createClient(10_000);
    const reply = await client.send({ method: 'PUT', url, body: Buffer.from('report') });
    expect([reply.status, reply.body.toString()]).toEqual([200, 'done']);
    expect(bodies).toEqual(['report', 'report', 'report', 'report']);
    expect(retries).toBe(3);
    client.close();
  });

  it('reports at once that a server at an http URL speaks https', async () => {
    const { certificate, privateKey } = await localhostIdentity();
    const tls = createTlsServer({
      cert: encodePem('CERTIFICATE', certificate.der),
      key: encodePem('PRIVATE KEY', exportPrivateKey(privateKey)),
    });
    await once(tls.listen(0, '127.0.0.1'), 'listening');
    await listen((_req, res) => res.end());
    const client = createClient(10_000);
    const { port } = tls.address() as AddressInfo;
    const reply = client.send({ method: 'GET', url: `http://127.0.0.1:${port}/lab` });
    await expect(reply).rejects.toThrow(
      `http://127.0.0.1:${port} speaks https: use https:// in its URL`,
    );
    expect(retries).toBe(0);
    client.close();
    tls.closeAllConnections();
    tls.close();
  });

  it('returns a refusal as an answer', async () => {
    await listen((_req, res) => res.writeHead(403).end());
    const client = createClient(10_000);
    expect((await client.send({ method: 'GET', url })).status).toBe(403);
    expect(retries).toBe(0);
    client.close();
  });
});
