import express from 'express';
import request from 'supertest';
import { requestContext } from '../../../src/http/requests/request-context.js';
import { createProxyTrust } from '../../../src/http/requests/trust-proxy.js';

describe('the request id', () => {
  const app = express();
  app.use(requestContext(createProxyTrust([])));
  app.use((_req, res) => {
    res.json(res.locals);
  });

  const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

  it.each(['', 'a b', 'a"b', 'x'.repeat(65), 'ü', '../x'])(
    'is a new one instead of %j',
    async (offered) => {
      const response = await request(app)
        .get('/')
        .set('X-Request-Id', Buffer.from(offered).toString('latin1'));
      expect(response.headers['x-request-id']).toMatch(UUID);
      expect(response.body.requestId).toBe(response.headers['x-request-id']);
    },
  );

  it.each(['abc', 'x'.repeat(64), '7f3e.a-b_c'])("is the caller's %j", async (offered) => {
    const response = await request(app).get('/').set('X-Request-Id', offered);
    expect(response.headers['x-request-id']).toBe(offered);
  });

  it('is known without a context, which only authentication sets', async () => {
    const response = await request(app).get('/');
    expect(Object.keys(response.body)).toEqual(['requestId', 'sourceAddress']);
    expect(response.body.sourceAddress).toMatch(/^(127\.0\.0\.1|::1)$/);
  });
});
