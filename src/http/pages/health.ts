import { type Response, Router } from 'express';
import { AppError } from '../../errors.js';
import { createWarner, type Logger, type Warner } from '../../logger.js';

export interface HealthOptions {
  /** What must work before traffic is sent, by name. A rejection is a failure. */
  checks: Record<string, () => Promise<unknown>>;
  logger: Logger;
  timeoutMs?: number | undefined;
}

interface CheckResult {
  name: string;
  result: 'ok' | 'failed';
  /** Only the text of an AppError, which is written for administrators. */
  reason?: string | undefined;
}

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
): Promise<CheckResult> {
  try {
    await withTimeout(Promise.resolve(checks[name]?.()), timeoutMs);
    return { name, result: 'ok' };
  } catch (error) {
    warn({ err: error, check: name }, 'not ready', name);
    if (!(error instanceof AppError)) return { name, result: 'failed' };
    return { name, result: 'failed', reason: error.message };
  }
}

function answer(res: Response, status: number, body: object): void {
  res.status(status).set('Cache-Control', 'no-store').json(body);
}

/** The body of /readyz. */
function describe(results: CheckResult[]): object {
  const failed = results.filter(({ result }) => result === 'failed');
  const reasons = failed.flatMap(({ name, reason }) => (reason ? [[name, reason] as const] : []));
  return {
    status: failed.length === 0 ? 'ready' : 'not ready',
    checks: Object.fromEntries(results.map(({ name, result }) => [name, result])),
    reasons: reasons.length > 0 ? Object.fromEntries(reasons) : undefined,
  };
}

/** /healthz: the process answers. /readyz: 200, or 503 with the checks that fail. */
export function createHealthRouter(options: HealthOptions): Router {
  const router = Router();
  const checking = { ...options, warn: createWarner(options.logger) };
  router.get('/healthz', (_req, res) => answer(res, 200, { status: 'ok' }));
  router.get('/readyz', async (_req, res) => {
    const names = Object.keys(options.checks);
    const results = await Promise.all(names.map((name) => runCheck(name, checking)));
    const isReady = results.every(({ result }) => result === 'ok');
    answer(res, isReady ? 200 : 503, describe(results));
  });
  router.all(['/healthz', '/readyz'], (_req, res) => {
    res.status(405).set('Allow', 'GET, HEAD').end();
  });
  return router;
}
