import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { builtConsole } from '../../../src/http/pages/console-files.js';
import { ADMIN_TOKEN, startApp, type TestApp } from '../../helpers/app.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';

const SCRIPT = 'console.log("Muster");';
const HTML = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const INDEX = `<!doctype html>
<html lang="en">
<head>
<title>Muster</title>
<script type="module" src="/assets/main-Bx3k.js"></script>
</head>
<body></body>
</html>
`;

let app: TestApp;
let directory: string;

beforeAll(async () => {
  directory = temporaryDirectory();
  mkdirSync(join(directory, 'assets'));
  const files = {
    'index.html': INDEX,
    'favicon.svg': '<svg/>',
    'assets/main-Bx3k.js': SCRIPT,
    'assets/main-Bx3k.js.br': brotliCompressSync(SCRIPT),
    'assets/main-Bx3k.js.gz': gzipSync(SCRIPT),
    'assets/plain-9f.css': 'body{}',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  app = await startApp({ isSweeping: false, consoleDirectory: directory });
});
afterAll(async () => {
  await app.stop();
  removeTemporaryDirectories();
});

interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
}

/** fetch would decompress. */
function get(path: string, headers: Record<string, string> = HTML, method = 'GET'): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(app.url);
    const sent = request({ hostname, port, path, method, headers }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('end', () =>
        resolve({
          status: res.statusCode ?? 0,
          headers: res.headers,
          bytes: Buffer.concat(chunks),
        }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

function nonceOf({ headers }: Reply): string {
  return /'nonce-([^']+)'/.exec(String(headers['content-security-policy']))?.[1] ?? '';
}

describe('a page of the console', () => {
  it.each([
    '/',
    '/devices',
    '/devices/7',
    '/devices/7/commands?status=Queued',
    '/sign-in',
    '/types/com.apple.x',
  ])('answers %s with the index and a nonce of its own', async (path) => {
    const reply = await get(path);
    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      vary: 'Accept',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
    const nonce = nonceOf(reply);
    expect(nonce).toMatch(/^[\w+/]{22}==$/);
    expect(reply.headers['content-security-policy']).toBe(
      `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; ` +
        "connect-src 'self'; img-src 'self' data:; font-src 'self'; form-action 'self'; " +
        "base-uri 'none'; frame-ancestors 'none'",
    );
    const meta = `<meta property="csp-nonce" nonce="${nonce}" content="${nonce}">`;
    expect(reply.bytes.toString()).toBe(INDEX.replace('<head>', `<head>\n${meta}`));
    expect(nonceOf(await get(path))).not.toBe(nonce);
  });

  it('answers HEAD without a body', async () => {
    const reply = await get('/devices', HTML, 'HEAD');
    expect([reply.status, reply.bytes.length]).toEqual([200, 0]);
    expect(Number(reply.headers['content-length'])).toBeGreaterThan(INDEX.length);
  });

  it('is not sent for other methods and to other programs', async () => {
    expect((await get('/devices', HTML, 'POST')).status).toBe(404);
    expect((await get('/devices', { Accept: '*/*' })).status).toBe(404);
    expect((await get('/devices', {})).status).toBe(404);
    const root = await get('/', { Accept: 'application/json' });
    expect(JSON.parse(root.bytes.toString())).toMatchObject({ name: 'Muster', api: '/api/v1' });
    expect((await get('/', HTML, 'POST')).status).toBe(405);
  });

  it.each([
    '/api/v1/nothing',
    '/api',
    '/API/v1',
    '/dep/nothing',
    '/enroll/nothing',
    '/mdm/nothing',
    '/checkin/nothing',
    '/scep/nothing',
    '/lab',
    '/healthz/nothing',
    '/readyz/nothing',
    '/crl/nothing',
    '/ca/nothing',
    '/.well-known/nothing',
    '/MDMServiceConfig/nothing',
    '/revocation',
    '/assets/',
    '/assets/missing.js',
    '/assets/missing',
    '/assets/../index.html',
    '/assets/%2e%2e/index.html',
    '/index.html',
    '/favicon.ico',
    '/assets/main-Bx3k.js.br',
  ])('is not sent for %s', async (path) => {
    const reply = await get(path, { ...HTML, Authorization: `Bearer ${ADMIN_TOKEN}` });
    expect([400, 404, 405]).toContain(reply.status);
    expect(reply.bytes.toString()).not.toContain('<title>Muster</title>');
  });

  it('does not replace the answers of the server', async () => {
    expect((await get('/healthz')).bytes.toString()).not.toContain('csp-nonce');
    expect((await get('/metrics')).status).not.toBe(404);
    expect((await get('/ocsp/nothing')).headers['content-type']).toContain('ocsp');
    expect((await get('/enroll/')).bytes.toString()).not.toContain('csp-nonce');
    expect((await get('/MDMServiceConfig')).headers['content-type']).toContain('json');
  });
});

describe('a file of the console', () => {
  const SCRIPT_PATH = '/assets/main-Bx3k.js';

  it.each([
    ['br', 'gzip, deflate, br', brotliDecompressSync],
    ['gzip', 'gzip, deflate', gunzipSync],
    ['gzip', 'br;q=0, gzip', gunzipSync],
    [undefined, 'identity', (bytes: Buffer) => bytes],
    [undefined, '', (bytes: Buffer) => bytes],
  ])('is sent in the coding %s to a client that accepts "%s"', async (coding, accepted, read) => {
    const reply = await get(SCRIPT_PATH, { Accept: '*/*', 'Accept-Encoding': accepted });
    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
      'content-length': String(reply.bytes.length),
    });
    expect(reply.headers['content-encoding']).toBe(coding);
    expect(read(reply.bytes).toString()).toBe(SCRIPT);
  });

  it('is sent as it is where the build has not compressed it', async () => {
    const reply = await get('/assets/plain-9f.css', { 'Accept-Encoding': 'br' });
    expect([reply.headers['content-encoding'], reply.bytes.toString()]).toEqual([
      undefined,
      'body{}',
    ]);
    expect(reply.headers['content-type']).toBe('text/css; charset=utf-8');
  });

  it('is stored for an hour where its name has no hash', async () => {
    const reply = await get('/favicon.svg');
    expect(reply.headers).toMatchObject({
      'content-type': 'image/svg+xml',
      'cache-control': 'public, max-age=3600',
    });
  });

  it('answers HEAD without a body', async () => {
    const reply = await get(SCRIPT_PATH, { 'Accept-Encoding': 'identity' }, 'HEAD');
    expect([reply.status, reply.bytes.length]).toEqual([200, 0]);
    expect(reply.headers['content-length']).toBe(String(SCRIPT.length));
  });
});

describe('a server without a built console', () => {
  it('shows its page with links, and runs from its source without one', async () => {
    expect(builtConsole()).toBeUndefined();
    const other = await startApp({ isSweeping: false, consoleDirectory: temporaryDirectory() });
    const root = await fetch(other.url, { headers: HTML });
    expect(await root.text()).toContain('href="/api/v1/docs"');
    expect((await fetch(`${other.url}/devices`, { headers: HTML })).status).toBe(404);
    await other.stop();
  });
});

it('the console is served as it was at the start, whatever an upgrade does to its files', async () => {
  rmSync(directory, { recursive: true });
  const plain = await get('/assets/main-Bx3k.js', {});
  expect([plain.status, plain.bytes.toString()]).toEqual([200, SCRIPT]);
  const compressed = await get('/assets/main-Bx3k.js', { 'accept-encoding': 'br' });
  expect([compressed.status, brotliDecompressSync(compressed.bytes).toString()]).toEqual([
    200,
    SCRIPT,
  ]);
  expect((await get('/devices')).status).toBe(200);
});
