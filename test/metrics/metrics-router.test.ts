import express from 'express';
import request from 'supertest';
import { requireApiToken } from '../../src/auth/require-api-token.js';
import { TokenAttempts } from '../../src/auth/token-attempts.js';
import { requestContext } from '../../src/http/requests/request-context.js';
import { createProxyTrust } from '../../src/http/requests/trust-proxy.js';
import type { Role } from '../../src/jsonapi/context.js';
import { createMetricsRouter } from '../../src/metrics/metrics-router.js';
import { capturingLogger } from '../http/log-lines.js';

const TEXT = '# HELP a Some.\n# TYPE a gauge\na 1\n';
const TYPE = 'text/plain; version=0.0.4; charset=utf-8';
/** As added by a proxy that is not configured. */
const PROXIED = { 'X-Forwarded-For': '198.51.100.7' };

function appWith({ trustProxy = [] as string[], text = async () => TEXT } = {}) {
  const verify = async (token: string) =>
    /^(viewer|operator|admin)$/.test(token) ? { name: token, role: token as Role } : null;
  const app = express();
  app.use(requestContext(createProxyTrust(trustProxy)));
  app.use(
    createMetricsRouter({
      metrics: { contentType: TYPE, text },
      authenticate: requireApiToken({ tokens: new TokenAttempts({ verify, limit: { limit: 3 } }) }),
      isBehindProxy: trustProxy.length > 0,
      logger: capturingLogger().logger,
    }),
  );
  app.use((_req, res) => {
    res.status(404).end();
  });
  return app;
}

function ask(headers: Record<string, string> = {}, app = appWith()) {
  return request(app).get('/metrics').set(headers);
}

describe('GET /metrics', () => {
  it.each([
    ['X-Forwarded-For', '198.51.100.7'],
    ['X-Forwarded-Host', 'mdm.example.com'],
    ['X-Forwarded-Proto', 'https'],
    ['Forwarded', 'for=198.51.100.7'],
    ['X-Real-IP', '198.51.100.7'],
    ['Via', '1.1 proxy'],
    ['Host', 'mdm.example.com'],
  ])('requires a token when %s shows that the request was forwarded', async (name, value) => {
    const reply = await ask({ [name]: value });
    expect(reply.status).toBe(401);
    expect(reply.headers['www-authenticate']).toBe(
      'Basic realm="muster", charset="UTF-8", Bearer realm="muster"',
    );
    expect(reply.text).not.toContain('# HELP');
  });

  it('requires a token from everyone while TRUST_PROXY is set', async () => {
    const reply = await ask({}, appWith({ trustProxy: ['192.0.2.1'] }));
    expect([reply.status, reply.body.errors[0].code]).toEqual([401, 'unauthorized']);
  });

  it.each(['viewer', 'operator'])('refuses a token of the role %s', async (role) => {
    const reply = await ask({ ...PROXIED, Authorization: `Bearer ${role}` });
    expect([reply.status, reply.body.errors[0].code]).toEqual([403, 'forbidden']);
  });

  it('refuses a wrong token, too many of them with 429, and a valid one never', async () => {
    const app = appWith();
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 5; attempt += 1) {
      statuses.push((await ask({ ...PROXIED, Authorization: `Bearer no-${attempt}` }, app)).status);
    }
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    const wrong = await ask({ ...PROXIED, Authorization: 'Bearer no-5' }, app);
    expect([wrong.status, Number(wrong.headers['retry-after']) > 0]).toEqual([429, true]);
    const admin = await ask({ ...PROXIED, Authorization: 'Bearer admin' }, app);
    expect(admin.status).toBe(200);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('refuses %s', async (method) => {
    const call = request(appWith());
    const reply = await call[method.toLowerCase() as 'post']('/metrics');
    expect([reply.status, reply.headers.allow]).toEqual([405, 'GET, HEAD']);
  });

  it('exists at no other path', async () => {
    for (const path of ['/metrics/x', '/Metrics', '/metricsx']) {
      expect([path, (await request(appWith()).get(path)).status]).toEqual([path, 404]);
    }
    const slash = await request(appWith()).get('/metrics/').set(PROXIED);
    expect(slash.status).toBe(401);
  });

  it('hides the reason of a failure', async () => {
    const reply = await ask({}, appWith({ text: () => Promise.reject(new Error('why')) }));
    expect([reply.status, reply.body.errors[0].code]).toEqual([500, 'internal_error']);
    expect(reply.text).not.toContain('why');
  });

  it('answers this machine without a token', async () => {
    const reply = await ask();
    expect([reply.status, reply.text]).toEqual([200, TEXT]);
    expect(reply.headers['content-type']).toBe(TYPE);
    expect(reply.headers['cache-control']).toBe('no-store');
  });

  it('answers HEAD without a body', async () => {
    const reply = await request(appWith()).head('/metrics');
    expect([reply.status, reply.text]).toEqual([200, undefined]);
    expect(reply.headers['content-length']).toBe(String(TEXT.length));
  });

  it.each([
    ['Bearer', 'Bearer admin'],
    ['Basic', `Basic ${Buffer.from('prometheus:admin').toString('base64')}`],
  ])('answers an admin by %s', async (_scheme, authorization) => {
    const behind = appWith({ trustProxy: ['127.0.0.1', '::1'] });
    for (const app of [appWith(), behind]) {
      const reply = await ask({ ...PROXIED, Authorization: authorization }, app);
      expect([reply.status, reply.text]).toEqual([200, TEXT]);
    }
  });
});
