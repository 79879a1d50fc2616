import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { Agent, get, request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { drain, listen } from '../../src/http/server/listen.js';
import { createHttpServer } from '../../src/http/server/server.js';
import type { TlsPair, TlsSettings } from '../../src/http/server/tls.js';
import { capturingLogger } from './log-lines.js';
import { portOf, stop, untilClosed } from './raw-client.js';

describe('the HTTPS server', () => {
  let tls: TlsSettings;
  let server: Server;

  beforeAll(() => {
    const dir = mkdtempSync(join(tmpdir(), 'muster-tls-'));
    const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-keyout',
        key,
        '-out',
        cert,
        '-days',
        '2',
        '-subj',
        '/CN=localhost',
        '-addext',
        'subjectAltName=DNS:localhost',
      ],
      { stdio: 'ignore' },
    );
    tls = { key: readFileSync(key), cert: readFileSync(cert) };
    rmSync(dir, { recursive: true });
  });

  let swap: (pair: TlsPair) => void;

  beforeEach(async () => {
    const onChange: TlsSettings['onChange'] = (given) => {
      swap = given;
    };
    server = createHttpServer({
      app: (_req, res) => res.end('app'),
      deviceHandler: (_req, res) => {
        res.end('device');
      },
      logger: capturingLogger().logger,
      tls: { ...tls, onChange },
    });
    await listen(server, { port: 0, host: '127.0.0.1' });
  });
  afterEach(() => stop(server));

  function send(method: string, path: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { port: portOf(server), method, path, ca: tls.cert, agent: false };
      const req = request({ host: 'localhost', family: 4, ...options }, (res) => {
        res.setEncoding('utf8');
        res.on('data', resolve);
      });
      req.on('error', reject);
      req.end();
    });
  }

  it.each(['from the start', 'with another certificate'])('refuses TLS 1.1 %s', async (when) => {
    if (when !== 'from the start') swap(tls);
    const socket = connect({
      port: portOf(server),
      ca: tls.cert,
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    const error = await new Promise<NodeJS.ErrnoException>((resolve) =>
      socket.on('error', resolve),
    );
    expect(error.code).toMatch(/PROTOCOL_VERSION/);
  });

  it('stays up after a client that speaks no TLS', async () => {
    const plain = connectPlain(portOf(server), '127.0.0.1');
    const closed = untilClosed(plain);
    plain.write('PUT /mdm HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await closed).not.toContain('200');
    expect(await send('GET', '/')).toBe('app');
  });

  it('sends PUT /mdm to the device handler, all else to the app', async () => {
    expect(await send('PUT', '/mdm')).toBe('device');
    expect(await send('GET', '/mdm')).toBe('app');
  });

  it('drains in time although a handshake never ends', async () => {
    const silent = connectPlain(portOf(server), '127.0.0.1');
    const closed = untilClosed(silent);
    await new Promise((resolve) => server.once('connection', resolve));
    expect(await drain(server, 100)).toBe(false);
    expect(await closed).toBe('');
  });

  it('closes idle keep-alive connections when it drains', async () => {
    const agent = new Agent({ keepAlive: true, ca: tls.cert });
    await new Promise<void>((resolve) => {
      get({ host: 'localhost', family: 4, port: portOf(server), agent }, (res) => {
        res.resume();
        res.on('end', resolve);
      });
    });
    expect(await drain(server, 5_000)).toBe(true);
    agent.destroy();
  });
});
