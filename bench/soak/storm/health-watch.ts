import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 50;

export interface HealthSeen {
  checks: number;
  /** Descriptions of the answers other than 200. */
  failures: string[];
  slowestMs: number;
}

/** Polls the health check, as a load balancer does, while `work` runs. */
export async function watchHealth<T>(
  baseUrl: string,
  work: () => Promise<T>,
): Promise<{ result: T; health: HealthSeen }> {
  const health: HealthSeen = { checks: 0, failures: [], slowestMs: 0 };
  let isOver = false;
  const watch = async (path: string) => {
    while (!isOver) {
      const { ms, failure } = await check(`${baseUrl}${path}`);
      health.checks += 1;
      health.slowestMs = Math.max(health.slowestMs, ms);
      if (failure !== undefined) health.failures.push(failure);
      await sleep(PAUSE_MS);
    }
  };
  const watching = ['/healthz', '/readyz'].map(watch);
  try {
    return { result: await work(), health };
  } finally {
    isOver = true;
    await Promise.all(watching);
  }
}

async function check(url: string): Promise<{ ms: number; failure: string | undefined }> {
  const startedAt = performance.now();
  const status = await fetch(url).then(
    async (response) => {
      await response.arrayBuffer();
      return response.status;
    },
    (error: unknown) => String(error),
  );
  const ms = performance.now() - startedAt;
  return { ms, failure: status === 200 ? undefined : `${url} answered ${status}` };
}
