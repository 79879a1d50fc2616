import { ADMIN_TOKEN, startApp, type TestApp } from '../helpers/app.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, ...init.headers };
  return fetch(`${app.url}${path}`, { ...init, headers });
}

const API = ['/api/v1/tags', '/api/v1/tags/9', '/api/v1/organization', '/api/v1/nothing'];
const OTHERS = [
  '/',
  '/healthz',
  '/readyz',
  '/enroll/profile',
  '/scep?operation=GetCACaps',
  '/nothing',
];

describe('every surface', () => {
  it.each([...API, ...OTHERS])('protects browsers at %s', async (path) => {
    const { headers } = await ask(path);
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'SAMEORIGIN',
      'referrer-policy': 'no-referrer',
      'strict-transport-security': 'max-age=15552000',
      'content-security-policy': expect.stringContaining('frame-ancestors'),
    });
    expect(headers.get('x-powered-by')).toBeNull();
  });

  it.each(API)('forbids to store or render answers of %s', async (path) => {
    for (const init of [{}, { headers: { Authorization: 'Bearer wrong' } }]) {
      const { headers } = await ask(path, init);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none';frame-ancestors 'none'",
      );
    }
  });

  it.each([...API, ...OTHERS])(
    'accepts the id of a request to %s, or creates one',
    async (path) => {
      const given = await ask(path, { headers: { 'X-Request-Id': 'front-end.7' } });
      expect(given.headers.get('x-request-id')).toBe('front-end.7');
      for (const odd of ['', 'two words', 'x'.repeat(65)]) {
        const made = await ask(path, { headers: { 'X-Request-Id': odd } });
        expect(made.headers.get('x-request-id')).toMatch(
          /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
        );
      }
    },
  );

  it('accepts a filter by 1,000 serial numbers or UUIDs', async () => {
    for (const width of [12, 36]) {
      const values = Array.from({ length: 1000 }, (_, index) => `${index}`.padStart(width, 'X'));
      const filter = JSON.stringify([{ name: 'serial_number', op: 'in_', val: values }]);
      const reply = await ask(`/api/v1/devices?filter=${encodeURIComponent(filter)}`);
      const { meta } = (await reply.json()) as { meta: unknown };
      expect([reply.status, meta]).toEqual([200, { count: 0, total: 0 }]);
    }
  });

  it('the request id appears in errors and in the log', async () => {
    const reply = await ask('/api/v1/nothing', { headers: { 'X-Request-Id': 'front-end.8' } });
    expect(await reply.json()).toMatchObject({ errors: [{ id: 'front-end.8' }] });
    const line = () => app.logLines.find(({ requestId }) => requestId === 'front-end.8');
    for (let left = 100; line() === undefined && left > 0; left -= 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(line()).toMatchObject({ method: 'GET', path: '/api/v1/nothing', status: 404 });
  });

  it.each([
    ['/healthz', 'GET, HEAD'],
    ['/readyz', 'GET, HEAD'],
    ['/enroll/profile', 'GET, HEAD, POST'],
    ['/scep', 'GET, POST'],
    ['/mdm', 'PUT'],
    ['/checkin', 'PUT'],
    ['/api/v1/tags', 'GET, POST, HEAD, OPTIONS'],
    ['/api/v1/tags/1', 'GET, PATCH, DELETE, HEAD, OPTIONS'],
    ['/api/v1/organization', 'GET, HEAD, OPTIONS'],
    ['/api/v1/configuration/scep', 'GET, POST, PATCH, HEAD, OPTIONS'],
    ['/api/v1/devices/1/clear_passcode', 'GET, POST, OPTIONS'],
    ['/api/v1/devices/test/1', 'POST, OPTIONS'],
  ])('refuses other methods at %s with what it allows', async (path, allow) => {
    const reply = await ask(path, { method: 'PURGE' });
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, allow]);
  });
});
