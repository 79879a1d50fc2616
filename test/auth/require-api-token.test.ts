import express, { type Express } from 'express';
import request from 'supertest';
import { requireApiToken } from '../../src/auth/require-api-token.js';
import { type TokenAttemptOptions, TokenAttempts } from '../../src/auth/token-attempts.js';
import { jsonApiErrorHandler } from '../../src/http/errors/json-api-errors.js';
import { requestContext, requireRole } from '../../src/http/requests/request-context.js';
import { createProxyTrust } from '../../src/http/requests/trust-proxy.js';
import type { Actor } from '../../src/jsonapi/context.js';
import { capturingLogger } from '../http/log-lines.js';

const ACTORS: Record<string, Actor> = {
  'mst_admin-of-the-test': { name: 'root', role: 'admin' },
  'mst_viewer-of-the-test': { name: 'eye', role: 'viewer' },
};
const ADMIN = 'Bearer mst_admin-of-the-test';

function basic(pair: string): string {
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

describe('authenticate', () => {
  function appWith(options: Partial<TokenAttemptOptions> = {}): Express {
    const verify = async (token: string) => ACTORS[token] ?? null;
    const app = express();
    app.use(requestContext(createProxyTrust(['127.0.0.1', '::1'])));
    app.use(requireApiToken({ tokens: new TokenAttempts({ verify, ...options }) }));
    app.get('/admin', requireRole('admin'), (_req, res) => {
      res.json(res.locals.context);
    });
    app.get('/', (_req, res) => {
      res.json(res.locals.context);
    });
    app.use(jsonApiErrorHandler(capturingLogger().logger));
    return app;
  }

  function get(app: Express, authorization: string, from = '198.51.100.1') {
    return request(app).get('/').set('Authorization', authorization).set('X-Forwarded-For', from);
  }

  async function failTimes(app: Express, times: number, statuses = [401]): Promise<void> {
    for (let i = 0; i < times; i += 1) {
      const { status } = await get(app, `Bearer ${i}-wrong-token`);
      expect(statuses).toContain(status);
    }
  }

  it('asks for Bearer or Basic where there is no token', async () => {
    const response = await request(appWith()).get('/');
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toBe(
      'Basic realm="muster", charset="UTF-8", Bearer realm="muster"',
    );
    expect(response.body.errors).toEqual([
      {
        id: response.headers['x-request-id'],
        status: '401',
        code: 'unauthorized',
        title: 'Unauthorized',
        detail:
          'a valid token is needed: send Authorization: Bearer TOKEN, with the one in ' +
          'DATA_DIR/admin-token or one of `muster token create`',
      },
    ]);
  });

  it.each([
    ['an unknown token', 'Bearer mst_unknown'],
    ['a token in the wrong case', 'Bearer MST_ADMIN-OF-THE-TEST'],
    ['a token with something behind it', `${ADMIN} x`],
    ['the token as the user name', basic('mst_admin-of-the-test:')],
    ['no password', basic('mst_admin-of-the-test')],
    ['another scheme', 'Token mst_admin-of-the-test'],
    ['no scheme', 'mst_admin-of-the-test'],
    ['Basic that is no base64', 'Basic %%%'],
  ])('refuses %s', async (_case, authorization) => {
    expect((await get(appWith(), authorization)).status).toBe(401);
  });

  it.each([
    ['Bearer', ADMIN],
    ['bearer in lower case', 'bearer mst_admin-of-the-test'],
    ['Basic with the token as password', basic('anyone:mst_admin-of-the-test')],
    ['Basic without a user name', basic(':mst_admin-of-the-test')],
  ])('accepts the token as %s', async (_case, authorization) => {
    const response = await get(appWith(), authorization).set('X-Request-Id', 'call-1');
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
      requestId: 'call-1',
      actor: { name: 'root', role: 'admin' },
      sourceAddress: '198.51.100.1',
    });
  });

  it('answers 403 to a role below the one needed', async () => {
    const response = await request(appWith())
      .get('/admin')
      .set('Authorization', 'Bearer mst_viewer-of-the-test');
    expect(response.status).toBe(403);
    expect(response.body.errors[0]).toMatchObject({ code: 'forbidden', status: '403' });
  });

  it('answers 401 where a role is needed and nobody authenticated', async () => {
    const app = express();
    app.get('/', requireRole('viewer'));
    app.use(jsonApiErrorHandler(capturingLogger().logger));
    expect((await request(app).get('/')).status).toBe(401);
  });

  it('answers 500 without detail when the look-up fails', async () => {
    const app = appWith({ verify: () => Promise.reject(new Error('password of postgres')) });
    const response = await get(app, ADMIN);
    expect(response.status).toBe(500);
    expect(response.text).not.toContain('postgres');
  });

  describe('after 20 failures within a minute', () => {
    it('answers 429 with Retry-After', async () => {
      const app = appWith();
      await failTimes(app, 20);
      const response = await get(app, 'Bearer wrong-21');
      expect(response.status).toBe(429);
      expect(response.body.errors[0]).toMatchObject({ code: 'too_many_requests', status: '429' });
      const seconds = Number(response.headers['retry-after']);
      expect(seconds).toBeGreaterThanOrEqual(1);
      expect(seconds).toBeLessThanOrEqual(60);
    });

    it('still accepts a valid token that was not used before', async () => {
      const app = appWith();
      await failTimes(app, 25, [401, 429]);
      expect((await get(app, ADMIN)).status).toBe(200);
      expect((await get(app, 'Bearer mst_viewer-of-the-test')).status).toBe(200);
      expect((await get(app, 'Bearer wrong')).status).toBe(429);
    });

    it('answers 429 also when the failures came from many addresses with one token prefix', async () => {
      const app = appWith();
      const guess = (i: number) => get(app, `Bearer mst_admin-of-guess-${i}`, `198.51.100.${i}`);
      for (let i = 0; i < 20; i += 1) expect((await guess(i)).status).toBe(401);
      expect((await guess(20)).status).toBe(429);
      expect((await get(app, 'Bearer mst_other-token', '198.51.100.21')).status).toBe(401);
      expect((await get(app, ADMIN, '198.51.100.20')).status).toBe(200);
    });

    it('does not limit other addresses', async () => {
      const app = appWith();
      await failTimes(app, 20);
      expect((await get(app, ADMIN, '198.51.100.2')).status).toBe(200);
      expect((await get(app, 'Bearer wrong', '198.51.100.2')).status).toBe(401);
    });

    it('counts the addresses of one IPv6 block as one', async () => {
      const app = appWith({ limit: { limit: 2 } });
      await get(app, 'Bearer wrong', '2001:db8:0:1::1');
      await get(app, 'Bearer wrong', '2001:db8:0:2::2');
      expect((await get(app, 'Bearer wrong', '2001:db8:0:3::3')).status).toBe(429);
      expect((await get(app, 'Bearer wrong', '2001:db9::1')).status).toBe(401);
    });

    it('resets the count when the minute is over', async () => {
      const app = appWith({ limit: { limit: 1, windowMs: 2_000 } });
      await failTimes(app, 1);
      expect((await get(app, 'Bearer wrong')).status).toBe(429);
      await new Promise((resolve) => setTimeout(resolve, 2_050));
      expect((await get(app, ADMIN)).status).toBe(200);
    });

    it('also holds for failures at the same time', async () => {
      const app = appWith();
      const server = app.listen(0);
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, i) =>
          request(server).get('/').set('Authorization', `Bearer ${i}-wrong-token`),
        ),
      );
      server.close();
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 401)).toHaveLength(20);
      expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    });
  });

  it('does not count requests without a token', async () => {
    const app = appWith();
    for (let i = 0; i < 25; i += 1) expect((await request(app).get('/')).status).toBe(401);
  });

  it('sets no limit on authenticated calls', async () => {
    const app = appWith();
    for (let i = 0; i < 60; i += 1) expect((await get(app, ADMIN)).status).toBe(200);
  });

  it('remembers a bounded number of addresses', async () => {
    const app = appWith({ limit: { limit: 1, maxKeys: 2 } });
    await get(app, 'Bearer one', '198.51.100.1');
    await get(app, 'Bearer two', '198.51.100.2');
    await get(app, 'Bearer three', '198.51.100.3');
    expect((await get(app, 'Bearer four', '198.51.100.3')).status).toBe(429);
    expect((await get(app, 'Bearer five', '198.51.100.1')).status).toBe(401);
  });
});
