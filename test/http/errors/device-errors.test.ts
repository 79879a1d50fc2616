import express from 'express';
import request from 'supertest';
import { AppError } from '../../../src/errors.js';
import {
  deviceErrorHandler,
  MAX_LINES,
  sendUnrecognizedDevice,
} from '../../../src/http/errors/device-errors.js';
import { capturingLogger } from '../log-lines.js';

describe('errors on the device surfaces', () => {
  const { logger, lines, text } = capturingLogger();

  beforeEach(() => {
    lines.length = 0;
  });

  function appThatFails(error: unknown) {
    const app = express();
    app.use(() => {
      throw error;
    });
    app.use(deviceErrorHandler(logger));
    return app;
  }

  it('answers the bare status of an AppError, with its cause in the log only', async () => {
    const error = new AppError('invalid_signature', 400, 'the signature is not valid', {
      cause: new Error('messageDigest differs'),
    });
    const response = await request(appThatFails(error)).get('/scep?challenge=hunter2');
    expect(response.status).toBe(400);
    expect(response.text).toBe('');
    expect(response.headers['content-type']).toBe('text/plain');
    expect(response.headers['content-length']).toBe('0');
    expect(lines).toEqual([
      expect.objectContaining({
        level: 30,
        path: '/scep',
        status: 400,
        code: 'invalid_signature',
        detail: 'the signature is not valid',
        reason: 'messageDigest differs',
      }),
    ]);
    expect(text()).not.toContain('hunter2');
  });

  it('logs a flood of refusals at level debug, and once what to do about it', async () => {
    const app = appThatFails(new AppError('invalid_signature', 400, 'not valid'));
    for (let count = 0; count < MAX_LINES + 5; count += 1) await request(app).get('/mdm');
    const levels = lines.map(({ level }) => level);
    expect(levels.filter((level) => level === 30)).toHaveLength(MAX_LINES);
    expect(levels.slice(MAX_LINES)).toEqual([20, 40, 20, 20, 20, 20]);
    expect(lines[MAX_LINES + 1]?.msg).toMatch(/block it at the firewall/);
  });

  it('answers 503 with Retry-After to a fault of ours', async () => {
    const error = new AppError('internal_error', 500, 'no connection');
    const response = await request(appThatFails(error)).get('/mdm');
    expect(response.status).toBe(503);
    expect(response.headers['retry-after']).toBe('30');
    expect(response.text).toBe('');
    expect(lines).toEqual([expect.objectContaining({ level: 50, status: 503 })]);
  });

  it('an outage is logged once in a while, any other failure of the server each time', async () => {
    const away = appThatFails(new AppError('unavailable', 503, 'away'));
    const broken = appThatFails(new AppError('internal_error', 500, 'broken'));
    for (const app of [away, away, broken, broken]) {
      expect((await request(app).get('/mdm')).status).toBe(503);
    }
    const { level: _, ...logged } = lines[0] ?? {};
    expect(logged).toMatchObject({ path: '/mdm', status: 503, msg: 'device request failed' });
    expect(lines.map(({ level }) => level)).toEqual([40, 20, 50, 50]);
  });

  it('a device waits longer before it retries than the clients of the admin API', async () => {
    const headers = { 'Retry-After': '1' };
    const response = await request(
      appThatFails(new AppError('unavailable', 503, 'away', { headers })),
    ).get('/mdm');
    expect([response.status, response.headers['retry-after']]).toEqual([503, '30']);
  });

  it('answers 503 to a thrown value that is no error', async () => {
    const response = await request(appThatFails('oops')).get('/mdm');
    expect(response.status).toBe(503);
  });

  it('never answers 401, which would unenroll the device', async () => {
    const error = new AppError('unauthorized', 401, 'who are you');
    const response = await request(appThatFails(error)).get('/mdm');
    expect(response.status).toBe(403);
  });

  it('keeps the headers an error asks for', async () => {
    const error = new AppError('method_not_allowed', 405, 'PUT only', {
      headers: { Allow: 'PUT' },
    });
    const response = await request(appThatFails(error)).get('/mdm');
    expect(response.status).toBe(405);
    expect(response.headers.allow).toBe('PUT');
  });

  it("answers Apple's 403 body to a device that is no longer known", async () => {
    const app = express();
    app.use((_req, res) => sendUnrecognizedDevice(res));
    const response = await request(app).put('/mdm');
    expect(response.status).toBe(403);
    expect(response.headers['content-type']).toBe('application/json');
    expect(response.text).toBe('{"code":"com.apple.unrecognized.device"}');
  });
});
