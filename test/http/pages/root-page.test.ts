import { version } from '../../../package.json';
import { startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

function get(init: RequestInit = {}): Promise<Response> {
  return fetch(`${app.url}/`, init);
}

describe('GET /', () => {
  it('is a page that names the product, its version, the API and its documentation', async () => {
    const reply = await get();
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const page = await reply.text();
    expect(page).toContain(`Muster ${version}`);
    for (const path of ['/api/v1', '/api/v1/docs', '/api/v1/openapi.json', '/enroll/']) {
      expect(page).toContain(`href="${path}"`);
    }
  });

  it('lets the browser load and run nothing, and needs no token', async () => {
    const { headers } = await get();
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; .*frame-ancestors 'none'$/,
    );
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('says the same as JSON to a client that asks for JSON', async () => {
    const reply = await get({ headers: { Accept: 'application/json' } });
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(reply.headers.get('vary')).toBe('Accept');
    expect(await reply.json()).toEqual({
      name: 'Muster',
      version,
      api: '/api/v1',
      docs: '/api/v1/docs',
      openapi: '/api/v1/openapi.json',
      enroll: '/enroll/',
    });
  });

  it('refuses other methods', async () => {
    const reply = await get({ method: 'POST' });
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await get({ method: 'HEAD' })).status).toBe(200);
  });

  it('is not sent for other paths', async () => {
    expect((await fetch(`${app.url}/index.html`)).status).toBe(404);
  });
});

describe('GET / of a worker', () => {
  it('names no API, since there is none', async () => {
    const worker = await startApp({ env: { ROLE: 'worker', DATABASE_URL: 'postgres://unused' } });
    const page = await (await fetch(`${worker.url}/`)).text();
    expect(page).toContain(`Muster ${version}`);
    expect(page).not.toContain('/api/v1');
    await worker.stop();
  });
});
