import { readFileSync } from 'node:fs';
import { createToken } from '../../../src/auth/api-tokens.js';
import { ADMIN_TOKEN, startApp, type TestApp } from '../../helpers/app.js';

const SCRIPT = '/api/v1/docs/rapidoc-min.js';
const ALL = ['/api/v1/openapi.json', '/api/v1/docs', SCRIPT];

let app: TestApp;
let viewer: string;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  const actor = { name: 'tester', role: 'admin' as const };
  const context = { requestId: 'docs', actor, sourceAddress: null };
  viewer = (await createToken(app.db, { name: 'viewer', role: 'viewer' }, context)).token;
});
afterAll(() => app.stop());

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  const basic = Buffer.from(`anyone:${ADMIN_TOKEN}`).toString('base64');
  return fetch(app.url + path, { headers: { Authorization: `Basic ${basic}`, ...headers } });
}

describe.each(ALL)('GET %s', (path) => {
  it('asks a browser for a name and password first', async () => {
    const response = await fetch(app.url + path);
    expect(response.status).toBe(401);
    // Chromium reads nothing after the first challenge of a line.
    expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm="muster"/);
  });

  it('is open to every role', async () => {
    const response = await get(path, { Authorization: `Bearer ${viewer}` });
    expect(response.status).toBe(200);
  });

  it('has the same entity tag each time, and is 304 for a client that sends it', async () => {
    const first = await get(path);
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    const again = await get(path, { 'If-None-Match': etag });
    expect([again.status, await again.text()]).toEqual([304, '']);
    const other = await get(path, { 'If-None-Match': '"other"' });
    expect(other.status).toBe(200);
  });

  it('answers HEAD without a body and with a slash at its end, and refuses POST', async () => {
    const Authorization = `Bearer ${ADMIN_TOKEN}`;
    const head = await fetch(`${app.url}${path}/`, { method: 'HEAD', headers: { Authorization } });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const post = await fetch(app.url + path, { method: 'POST', headers: { Authorization } });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });
});

describe('the page of the API', () => {
  it('loads only files of this server, and runs no inline script', async () => {
    const response = await get('/api/v1/docs');
    const html = await response.text();
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const addresses = [...html.matchAll(/(?:src|href|spec-url)="([^"]*)"/g)].map(([, url]) => url);
    expect(addresses).toEqual(['data:,', SCRIPT, '/api/v1/openapi.json']);
    expect(html).not.toMatch(/<script[^>]*>[^<]/);
    expect(html).not.toMatch(/\son\w+=/);
    expect(html).not.toContain('://');
  });

  it('lets the browser load nothing else', async () => {
    const { headers } = await get('/api/v1/docs');
    const policy = new Map(
      (headers.get('content-security-policy') ?? '').split(';').map((directive) => {
        const [name = '', ...sources] = directive.trim().split(' ');
        return [name, sources.join(' ')];
      }),
    );
    expect(policy.get('default-src')).toBe("'self'");
    expect(policy.get('script-src') ?? "'self'").toBe("'self'");
    expect(policy.get('frame-ancestors')).toBe("'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('serves its script byte for byte as its package has it', async () => {
    const response = await get(SCRIPT);
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    const original = readFileSync(require.resolve('rapidoc/dist/rapidoc-min.js'));
    expect(Buffer.from(await response.arrayBuffer()).equals(original)).toBe(true);
  });

  it('loads a document that is JSON, compressed for clients that accept that', async () => {
    const response = await get('/api/v1/openapi.json', { 'Accept-Encoding': 'gzip' });
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(await response.json()).toMatchObject({ openapi: '3.1.0' });
  });
});
