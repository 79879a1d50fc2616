import { execFile } from 'node:child_process';
import { Agent, type RequestOptions, request } from 'node:https';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { parsePlistDict } from '../../src/protocol/plist/plist.js';
import { type OpenSsl, openSsl } from '../crypto/openssl.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../helpers/app.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { makeChain, makeRoot, type TlsChain } from './tls-chains.js';

let openssl: OpenSsl;
let database: TestDatabase;
let rsa: TlsChain;
let ec: TlsChain;
let root: Buffer;

const env = { PUBLIC_URL: 'https://localhost:8443' };

beforeAll(async () => {
  openssl = openSsl();
  makeRoot(openssl);
  rsa = makeChain(openssl, 'rsa');
  ec = makeChain(openssl, 'ec');
  root = openssl.read('root.pem');
  database = await createTestDatabase();
});
afterAll(async () => {
  openssl.remove();
  await database.drop();
});

/** Returns the id. */
async function upload(app: TestApp, { chain, key }: TlsChain): Promise<number> {
  const attributes = { pem_certificate: chain, pem_private_key: key };
  const data = { type: 'certificates', attributes };
  const reply = await adminApi(app).post('/ssl_certificates', { data });
  expect(reply.status).toBe(201);
  return reply.body.data[0].id;
}

interface Answer {
  body: Buffer;
  status: number;
  socket: TLSSocket;
  /** Whose certificate the connection has: the O of its subject. */
  kind: string | string[] | undefined;
}

/** A request by a client that knows nothing but the root. */
function ask({ url }: TestApp, path: string, options: RequestOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(url);
    const where = { host: 'localhost', family: 4, port, path, ca: root, agent: false };
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
    const outgoing = request({ ...where, headers, ...options }, (response) => {
      const socket = response.socket as TLSSocket;
      const { statusCode: status = 0 } = response;
      const kind = socket.getPeerCertificate().subject.O;
      buffer(response).then((body) => resolve({ body, status, socket, kind }), reject);
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

async function warningCodes(app: TestApp): Promise<string[]> {
  const { body } = await adminApi(app).get('/credentials');
  return body.data.attributes.warnings.map(({ code }: { code: string }) => code);
}

/** Resolves with the milliseconds until it is so. */
async function untilSo(is: () => Promise<boolean>): Promise<number> {
  const start = performance.now();
  while (performance.now() - start < 5_000) {
    if (await is()) return performance.now() - start;
  }
  throw new Error('it never came to pass');
}

it('a server that began with plain HTTP asks for a restart once there is a certificate', async () => {
  const plain = await startApp({ database, env });
  expect(plain.url).toMatch(/^http:/);
  expect(await warningCodes(plain)).not.toContain('restart_for_https');
  await upload(plain, rsa);
  await untilSo(async () => (await warningCodes(plain)).includes('restart_for_https'));
  expect((await fetch(`${plain.url}/healthz`)).status).toBe(200);
  await plain.halt();
});

describe('two servers with a stored certificate', () => {
  let one: TestApp;
  let other: TestApp;

  beforeAll(async () => {
    one = await startApp({ database, env });
    other = await startApp({ database, env });
  });
  afterAll(async () => {
    await one.halt();
    await other.halt();
  });

  it('speak HTTPS, with the chain that leads to the root', async () => {
    for (const app of [one, other]) {
      const { status, kind, socket } = await ask(app, '/healthz');
      expect([status, kind, socket.authorized]).toEqual([200, 'rsa', true]);
      expect(await warningCodes(app)).not.toContain('restart_for_https');
    }
    const { port } = new URL(one.url);
    const shake = promisify(execFile)('openssl', [
      's_client',
      '-connect',
      `127.0.0.1:${port}`,
      '-servername',
      'localhost',
      '-CAfile',
      join(openssl.directory, 'root.pem'),
      '-verify_return_error',
      '-verify_hostname',
      'localhost',
      '-alpn',
      'h2,http/1.1',
    ]);
    shake.child.stdin?.end();
    const { stdout } = await shake;
    expect(stdout).toContain('Verify return code: 0 (ok)');
    expect(stdout).toContain('ALPN protocol: http/1.1');
  });

  it('both serve a new certificate within two seconds, and open connections stay', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const before = await ask(one, '/healthz', { agent });
    await upload(one, ec);
    const usesNewCertificate = async (app: TestApp) => (await ask(app, '/healthz')).kind === 'ec';
    const waits = await Promise.all(
      [one, other].map((app) => untilSo(() => usesNewCertificate(app))),
    );
    expect(Math.max(...waits)).toBeLessThan(2_000);
    const after = await ask(one, '/healthz', { agent });
    expect(after.socket).toBe(before.socket);
    expect([after.status, after.kind]).toEqual([200, 'rsa']);
    agent.destroy();
  });

  it('sign profiles with it, chain included', async () => {
    openssl.write('profile.der', (await ask(other, '/enroll/profile')).body);
    for (const command of ['cms', 'smime']) {
      const content = openssl.run(
        command,
        '-verify',
        '-inform',
        'DER',
        '-in',
        'profile.der',
        '-binary',
        '-CAfile',
        'root.pem',
        '-purpose',
        'any',
        '-signer',
        'signer.pem',
      );
      expect(parsePlistDict(content).PayloadType).toBe('Configuration');
      const subject = openssl.run('x509', '-in', 'signer.pem', '-noout', '-subject').toString();
      expect(subject).toMatch(/O ?= ?ec/);
    }
  });

  it('return to the former one when it is deleted, and keep that when it is deleted too', async () => {
    const stored = database.db.knex('certificates').where({ purpose: 'mdm.webcrt' });
    await stored.clone().whereLike('subject', '%O=ec%').delete();
    await untilSo(async () => (await ask(other, '/healthz')).kind === 'rsa');
    await stored.delete();
    await untilSo(async () => (await warningCodes(other)).includes('tls_certificate_gone'));
    expect((await ask(other, '/healthz')).kind).toBe('rsa');
  });
});

it('with TLS=off a stored certificate only signs', async () => {
  const app = await startApp({ database, env: { ...env, TLS: 'off' } });
  const isSigned = async () => {
    const response = await fetch(`${app.url}/enroll/profile`);
    const bytes = Buffer.from(await response.arrayBuffer());
    openssl.write('profile.der', bytes);
    return bytes[0] === 0x30;
  };
  expect(await isSigned()).toBe(false);
  await upload(app, rsa);
  await untilSo(isSigned);
  openssl.run(
    'cms',
    '-verify',
    '-inform',
    'DER',
    '-in',
    'profile.der',
    '-binary',
    '-CAfile',
    'root.pem',
    '-purpose',
    'any',
  );
  expect(await warningCodes(app)).not.toContain('restart_for_https');
  await app.halt();
});
