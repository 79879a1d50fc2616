import type { HttpAnswer } from './http-answer.js';

/** The body of /readyz and /healthz, as far as it is used. */
export interface ReadyReport {
  status?: unknown;
  checks?: Record<string, unknown>;
  reasons?: Record<string, unknown>;
}

/** undefined: something else than Muster answers. */
export function readReport({ body }: Pick<HttpAnswer, 'body'>): ReadyReport | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null && 'status' in value ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The checks that fail, and the reasons where an admin can do something. */
export function failedChecks({ checks = {}, reasons = {} }: ReadyReport): string {
  const failed = Object.entries(checks).filter(([, result]) => result !== 'ok');
  const list = failed.map(([name]) => name).join(', ') || 'no reason given';
  return [list, ...Object.values(reasons).map(String)].join('. ');
}
