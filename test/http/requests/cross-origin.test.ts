import { ADMIN_TOKEN, startApp, type TestApp } from '../../helpers/app.js';

const CONSOLE = 'https://console.example.com';
const OTHER = 'http://localhost:5173';

let open: TestApp;
let closed: TestApp;

beforeAll(async () => {
  open = await startApp({ env: { CORS_ORIGINS: `${CONSOLE}, ${OTHER}` } });
  closed = await startApp({ database: open.database });
});
afterAll(async () => {
  await closed.halt();
  await open.stop();
});

function corsHeaders(response: Response): string[] {
  return [...response.headers.keys()].filter((name) => name.startsWith('access-control-'));
}

function ask(app: TestApp, origin: string, init: RequestInit = {}, path = '/api/v1/tags') {
  const headers = { Origin: origin, Authorization: `Bearer ${ADMIN_TOKEN}`, ...init.headers };
  return fetch(`${app.url}${path}`, { ...init, headers });
}

function preflight(app: TestApp, origin: string, path = '/api/v1/tags') {
  const headers = {
    Origin: origin,
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'authorization,content-type',
  };
  return fetch(`${app.url}${path}`, { method: 'OPTIONS', headers });
}

describe('pages of other origins', () => {
  it('get no CORS headers without CORS_ORIGINS', async () => {
    for (const response of [await ask(closed, CONSOLE), await preflight(closed, CONSOLE)]) {
      expect(corsHeaders(response)).toEqual([]);
      expect(response.headers.get('vary') ?? '').not.toContain('Origin');
    }
    expect((await preflight(closed, CONSOLE)).status).toBe(401);
  });

  it.each([
    'https://evil.example.com',
    'http://console.example.com',
    `${CONSOLE}:8443`,
    `${CONSOLE}.evil.test`,
    'null',
  ])('get no CORS headers when they are of %s', async (origin) => {
    const response = await ask(open, origin);
    expect([response.status, corsHeaders(response)]).toEqual([200, []]);
    expect(response.headers.get('vary')).toContain('Origin');
    const refused = await preflight(open, origin);
    expect([refused.status, corsHeaders(refused)]).toEqual([401, []]);
  });

  it.each([CONSOLE, OTHER])(
    'may send a preflight before they authenticate when of %s',
    async (origin) => {
      const response = await preflight(open, origin);
      expect(response.status).toBe(204);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': 'GET,HEAD,POST,PATCH,DELETE',
        'access-control-allow-headers':
          'Accept,Authorization,Content-Type,Idempotency-Key,If-Match,If-None-Match,X-Request-Id',
        'access-control-max-age': '600',
        vary: 'Origin',
      });
    },
  );

  it('may read answers and errors alike, and the exposed headers', async () => {
    const answers = [
      await ask(open, CONSOLE),
      await ask(open, CONSOLE, {}, '/api/v1/tags/999999'),
      await ask(open, CONSOLE, {}, '/api/v1/nothing'),
      await ask(open, CONSOLE, { headers: { Authorization: 'Bearer wrong' } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 404, 401]);
    for (const { headers } of answers) {
      expect(headers.get('access-control-allow-origin')).toBe(CONSOLE);
      expect(headers.get('access-control-expose-headers')).toBe(
        'Allow,Content-Disposition,ETag,Idempotency-Replayed,Location,Retry-After,X-Request-Id',
      );
      expect(headers.get('vary')).toContain('Origin');
    }
  });

  it('get the plain answer to an OPTIONS that is no preflight', async () => {
    const response = await ask(open, CONSOLE, { method: 'OPTIONS' });
    expect([response.status, response.headers.get('allow')]).toEqual([
      204,
      'GET, POST, HEAD, OPTIONS',
    ]);
    expect(response.headers.get('access-control-allow-origin')).toBe(CONSOLE);
  });

  it('get no such header from the surfaces of devices', async () => {
    for (const path of ['/enroll/profile', '/scep?operation=GetCACaps', '/healthz', '/nothing']) {
      expect(corsHeaders(await ask(open, CONSOLE, {}, path))).toEqual([]);
    }
  });
});
