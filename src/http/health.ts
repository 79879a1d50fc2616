import { type Response, Router } from 'express';
import { createWarner, type Logger, type Warner } from '../logger.js';

export interface HealthOptions {
  /** What must work before traffic may come, by name. A rejection is a failure. */
  checks: Record<string, () => Promise<unknown>>;
  logger: Logger;
  timeoutMs?: number;
}

type CheckResult = 'ok' | 'failed';

function withTimeout(work: Promise<unknown>, ms: number): Promise<unknown> {
  let timer: NodeJS.Timeout;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

async function runCheck(
  name: string,
  { checks, warn, timeoutMs = 2_000 }: HealthOptions & { warn: Warner },
): Promise<[string, CheckResult]> {
  try {
    await withTimeout(Promise.resolve(checks[name]?.()), timeoutMs);
    return [name, 'ok'];
  } catch (error) {
    warn({ err: error, check: name }, 'not ready', name);
    return [name, 'failed'];
  }
}

function answer(res: Response, status: number, body: object): void {
  res.status(status).set('Cache-Control', 'no-store').json(body);
}

/** /healthz: the process answers. /readyz: so does all it needs. Neither tells why not. */
export function createHealthRouter(options: HealthOptions): Router {
  const router = Router();
  const checking = { ...options, warn: createWarner(options.logger) };
  router.get('/healthz', (_req, res) => answer(res, 200, { status: 'ok' }));
  router.get('/readyz', async (_req, res) => {
    const names = Object.keys(options.checks);
    const results = await Promise.all(names.map((name) => runCheck(name, checking)));
    const ready = results.every(([, result]) => result === 'ok');
    answer(res, ready ? 200 : 503, {
      status: ready ? 'ready' : 'not ready',
      checks: Object.fromEntries(results),
    });
  });
  router.all(['/healthz', '/readyz'], (_req, res) => {
    res.status(405).set('Allow', 'GET, HEAD').end();
  });
  return router;
}
