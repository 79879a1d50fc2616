import express from 'express';
import request from 'supertest';
import { AppError } from '../../../src/errors.js';
import { createHealthRouter } from '../../../src/http/pages/health.js';
import { capturingLogger } from '../log-lines.js';

type Checks = Record<string, () => Promise<unknown>>;

describe('health', () => {
  const { logger, lines } = capturingLogger();

  function appWith(checks: Checks) {
    return express().use(createHealthRouter({ checks, logger, timeoutMs: 50 }));
  }

  const fine = () => Promise.resolve();
  const broken = () => Promise.reject(new Error('password authentication failed for "muster"'));

  it('is not ready while one check fails, and says which but not why', async () => {
    const app = appWith({ database: broken, migrations: fine, ca: fine });
    const response = await request(app).get('/readyz');
    expect(response.status).toBe(503);
    expect(response.body).toEqual({
      status: 'not ready',
      checks: { database: 'failed', migrations: 'ok', ca: 'ok' },
    });
    expect(lines.at(-1)).toMatchObject({ level: 40, check: 'database' });
  });

  it('gives the reason of a failure whose text is meant to be shown', async () => {
    const full = () => Promise.reject(new AppError('unavailable', 503, 'The disk is full'));
    const response = await request(appWith({ database: fine, writes: full })).get('/readyz');
    expect(response.status).toBe(503);
    expect(response.body).toEqual({
      status: 'not ready',
      checks: { database: 'ok', writes: 'failed' },
      reasons: { writes: 'The disk is full' },
    });
  });

  it('a failing check is logged once in a while', async () => {
    lines.length = 0;
    const app = appWith({ database: broken, ca: broken });
    for (const _ of [1, 2, 3]) await request(app).get('/readyz');
    expect(lines.map(({ level, check }) => [level, check])).toEqual([
      [40, 'database'],
      [40, 'ca'],
      [20, 'database'],
      [20, 'ca'],
      [20, 'database'],
      [20, 'ca'],
    ]);
  });

  it('is not ready while a check does not answer', async () => {
    const app = appWith({ database: () => new Promise(() => undefined) });
    expect((await request(app).get('/readyz')).body).toEqual({
      status: 'not ready',
      checks: { database: 'failed' },
    });
  });

  it('is ready when all checks pass', async () => {
    const response = await request(appWith({ database: fine, ca: fine })).get('/readyz');
    expect(response.status).toBe(200);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.body).toEqual({ status: 'ready', checks: { database: 'ok', ca: 'ok' } });
  });

  it('is healthy as long as it answers', async () => {
    const response = await request(appWith({ database: broken })).get('/healthz');
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ status: 'ok' });
  });

  it('refuses other methods', async () => {
    const response = await request(appWith({})).post('/readyz');
    expect(response.status).toBe(405);
    expect(response.headers.allow).toBe('GET, HEAD');
    expect((await request(appWith({})).head('/healthz')).status).toBe(200);
  });
});
