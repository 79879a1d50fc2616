import { ADMIN_TOKEN, startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice } from '../helpers/device.js';
import { parseExposition, valuesOf } from './exposition.js';

const PROXIED = { 'X-Forwarded-For': '198.51.100.7' };

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

function ask(headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${app.url}/metrics`, { headers });
}

describe('GET /metrics of a whole server', () => {
  it('refuses requests without a token that come through a proxy', async () => {
    expect((await ask(PROXIED)).status).toBe(401);
    expect((await ask({ ...PROXIED, Authorization: 'Bearer wrong' })).status).toBe(401);
  });

  it('answers local requests and admins, with the headers of every surface', async () => {
    const device = await createTestDevice(app);
    await device.enroll();
    const local = await ask();
    const admin = await ask({ ...PROXIED, Authorization: `Bearer ${ADMIN_TOKEN}` });
    for (const reply of [local, admin]) {
      expect(reply.status).toBe(200);
      expect(reply.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
      expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
      const text = await reply.text();
      parseExposition(text);
      const messages = valuesOf(text, 'muster_mdm_messages_total');
      expect(messages).toEqual({ Authenticate: 1, TokenUpdate: 1 });
      const requests = valuesOf(text, 'muster_http_request_duration_seconds_count');
      expect(requests['200 mdm']).toBe(2);
      expect(valuesOf(text, 'muster_database_up')).toEqual({ '': 1 });
      expect(text).not.toContain(device.udid);
    }
  });
});
