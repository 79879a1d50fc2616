import express, { type RequestHandler } from 'express';
import request from 'supertest';
import { AppError, validationError } from '../../../src/errors.js';
import {
  jsonApiErrorHandler,
  noSuchRoute,
  plainNotFound,
} from '../../../src/http/errors/json-api-errors.js';
import { requestContext } from '../../../src/http/requests/request-context.js';
import { createProxyTrust } from '../../../src/http/requests/trust-proxy.js';
import { capturingLogger } from '../log-lines.js';

describe('errors under /api/v1', () => {
  const { logger, lines } = capturingLogger();

  beforeEach(() => {
    lines.length = 0;
  });

  function appWith(...handlers: RequestHandler[]) {
    const app = express();
    const api = express.Router();
    app.use(requestContext(createProxyTrust([])));
    for (const handler of handlers) api.use(handler);
    api.get('/things/:id', (_req, res) => {
      res.json({});
    });
    api.use(noSuchRoute, jsonApiErrorHandler(logger));
    app.use('/api/v1', api);
    app.use(plainNotFound);
    return app;
  }

  function failing(error: unknown) {
    return appWith(() => {
      throw error;
    });
  }

  it('answers an AppError with its code, status, detail and source', async () => {
    const error = new AppError('invalid_parameter', 400, 'no such attribute: x', {
      source: { parameter: 'sort' },
      cause: new Error('inner'),
    });
    const response = await request(failing(error)).get('/api/v1/').set('X-Request-Id', 'r.1');
    expect(response.status).toBe(400);
    expect(response.headers['content-type']).toBe('application/vnd.api+json');
    expect(response.body).toEqual({
      errors: [
        {
          id: 'r.1',
          status: '400',
          code: 'invalid_parameter',
          title: 'Invalid parameter',
          detail: 'no such attribute: x',
          source: { parameter: 'sort' },
        },
      ],
      jsonapi: { version: '1.0' },
    });
    expect(lines).toEqual([]);
  });

  it('answers several faults at once, each with its pointer', async () => {
    const error = validationError([
      { detail: 'name is missing', source: { pointer: '/data/attributes/name' } },
      { detail: 'no such attribute', source: { pointer: '/data/attributes/x' }, code: 'conflict' },
    ]);
    const response = await request(failing(error)).post('/api/v1/');
    expect(response.status).toBe(422);
    expect(response.body.errors).toEqual([
      expect.objectContaining({
        status: '422',
        code: 'validation_failed',
        detail: 'name is missing',
        source: { pointer: '/data/attributes/name' },
      }),
      expect.objectContaining({
        status: '422',
        code: 'conflict',
        source: { pointer: '/data/attributes/x' },
      }),
    ]);
  });

  it.each([
    ['an unknown error', new Error('relation "secret" does not exist')],
    ['an AppError of status 500', new AppError('internal_error', 500, 'secret')],
    ['an error with a status above 499', Object.assign(new Error('secret'), { status: 502 })],
    ['a thrown string', 'secret'],
  ])('answers 500 without detail to %s and logs it', async (_case, error) => {
    const response = await request(failing(error)).get('/api/v1/');
    expect(response.status).toBe(500);
    expect(response.text).not.toContain('secret');
    expect(response.body.errors).toEqual([
      {
        id: response.headers['x-request-id'],
        status: '500',
        code: 'internal_error',
        title: 'Internal error',
      },
    ]);
    expect(lines).toEqual([expect.objectContaining({ level: 50, msg: 'admin request failed' })]);
  });

  it('an outage of the database is named in the answer', async () => {
    const error = new AppError('unavailable', 503, 'the database is not available', {
      headers: { 'Retry-After': '5' },
    });
    const response = await request(failing(error)).get('/api/v1/');
    expect(response.status).toBe(503);
    expect(response.headers['retry-after']).toBe('5');
    expect(response.body.errors[0].detail).toBe('the database is not available');
  });

  it('an outage of the database is logged once in a while, other failures each time', async () => {
    const away = new AppError('unavailable', 503, 'away', { cause: new Error('inner') });
    const app = failing(away);
    for (const id of ['r.1', 'r.2', 'r.3']) {
      expect((await request(app).get('/api/v1/').set('X-Request-Id', id)).status).toBe(503);
    }
    expect(lines).toEqual(
      ['r.1', 'r.2', 'r.3'].map((requestId, at) => {
        const logged = { level: at === 0 ? 40 : 20, requestId, method: 'GET' };
        return expect.objectContaining({ ...logged, msg: 'admin request failed' });
      }),
    );
    expect(lines[0]?.err).toMatchObject({ message: 'away: inner' });
  });

  it("the log says in one line without a stack why Apple's push service cannot be reached", async () => {
    const error = new AppError('push_service_unreachable', 503, 'no such name', {
      headers: { 'Retry-After': '2' },
      cause: new Error('inner'),
    });
    const response = await request(failing(error)).post('/api/v1/').set('X-Request-Id', 'r.1');
    expect([response.status, response.headers['retry-after']]).toEqual([503, '2']);
    expect(response.body.errors).toMatchObject([
      { code: 'push_service_unreachable', detail: 'no such name' },
    ]);
    const [line, ...others] = lines;
    expect(others).toEqual([]);
    expect(line).toMatchObject({
      level: 40,
      msg: 'admin request failed',
      why: 'no such name',
      requestId: 'r.1',
      method: 'POST',
    });
    expect(JSON.stringify(line)).not.toContain('    at ');
    expect(line).not.toHaveProperty('err');
  });

  describe('of the body parser', () => {
    const parser = express.json({ limit: 100 });

    function post(body: string | Buffer, headers: Record<string, string> = {}) {
      return request(appWith(parser))
        .post('/api/v1/')
        .set({ 'Content-Type': 'application/json', ...headers })
        .send(body);
    }

    it.each([
      ['JSON that is not JSON', '{"a":', {}, 400, 'malformed_json'],
      ['a bare word', 'hello', {}, 400, 'malformed_json'],
      ['a body over the limit', JSON.stringify('x'.repeat(200)), {}, 413, 'payload_too_large'],
      [
        'an unknown charset',
        '{}',
        { 'Content-Type': 'application/json; charset=klingon' },
        415,
        'unsupported_media_type',
      ],
      ['an unknown encoding', '{}', { 'Content-Encoding': 'zip' }, 415, 'unsupported_media_type'],
    ])('answers %s', async (_case, body, headers, status, code) => {
      const response = await post(body, headers);
      expect(response.status).toBe(status);
      expect(response.body.errors).toEqual([expect.objectContaining({ code })]);
      expect(lines).toEqual([]);
    });
  });

  it('answers 400 to a path that is not valid percent-encoding', async () => {
    const response = await request(appWith()).get('/api/v1/things/%E0%A4%A');
    expect(response.status).toBe(400);
    expect(response.body.errors[0].code).toBe('bad_request');
  });

  it('answers no_such_route to an unknown path, without its query', async () => {
    const response = await request(appWith()).get('/api/v1/nothing?token=abc');
    expect(response.status).toBe(404);
    expect(response.body.errors[0]).toMatchObject({
      code: 'no_such_route',
      detail: '/api/v1/nothing is not a path of this API',
    });
  });

  it('answers plain text outside of the API', async () => {
    const response = await request(appWith()).get('/nothing');
    expect(response.status).toBe(404);
    expect(response.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(response.text).toBe('Not found\n');
  });
});
