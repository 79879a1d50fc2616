import { once } from 'node:events';
import express from 'express';
import request from 'supertest';
import { AppError } from '../../../src/errors.js';
import { jsonApiErrorHandler } from '../../../src/http/errors/json-api-errors.js';
import { requestContext, setActor } from '../../../src/http/requests/request-context.js';
import { requestLog } from '../../../src/http/requests/request-log.js';
import { createProxyTrust } from '../../../src/http/requests/trust-proxy.js';
import { capturingLogger } from '../log-lines.js';
import { open, serve, stop } from '../raw-client.js';

describe('the request log', () => {
  const { logger, lines, text } = capturingLogger();
  const app = express();
  app.use(requestContext(createProxyTrust([])), requestLog({ logger, level: 'info' }));
  app.get('/ok', (_req, res) => {
    setActor(res, { name: 'ci', role: 'viewer' });
    res.send('ok');
  });
  app.get('/bad', () => {
    throw new AppError('invalid_signature', 400, 'not valid', { cause: new Error('digest') });
  });
  app.get('/slow', () => undefined);
  app.use(jsonApiErrorHandler(logger));

  beforeEach(() => {
    lines.length = 0;
  });

  async function nextLine() {
    while (lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    return lines;
  }

  it('has one line for each request, without the query and the token', async () => {
    await request(app)
      .get('/ok?token=hunter2')
      .set('Authorization', 'Bearer hunter3')
      .set('X-Request-Id', 'r1');
    expect(await nextLine()).toEqual([
      expect.objectContaining({
        level: 30,
        msg: 'request',
        method: 'GET',
        path: '/ok',
        status: 200,
        requestId: 'r1',
        actor: 'ci',
        ms: expect.any(Number),
      }),
    ]);
    expect(text()).not.toMatch(/hunter/);
  });

  it('the line says why a request was refused', async () => {
    await request(app).get('/bad');
    expect(await nextLine()).toEqual([
      expect.objectContaining({ status: 400, code: 'invalid_signature', reason: 'digest' }),
    ]);
  });

  it('notes a client that went away', async () => {
    const server = await serve(app);
    const socket = await open(server);
    const arrived = once(server, 'request');
    socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
    await arrived;
    socket.destroy();
    expect(await nextLine()).toEqual([expect.objectContaining({ path: '/slow', aborted: true })]);
    await stop(server);
  });
});
