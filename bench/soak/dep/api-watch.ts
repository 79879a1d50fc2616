import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../load/api-client.js';

/** Milliseconds. */
export interface ApiSeen {
  times: number[];
  /** Of those answered in any other way than 200, in words. */
  failures: string[];
}

const PAUSE_MS = 10;

export function quantile(times: readonly number[], share: number): number {
  const sorted = Float64Array.from(times).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** One admin who goes on reading while the work is done. */
export async function watchApi<T>(
  api: ApiClient,
  paths: readonly string[],
  work: () => Promise<T>,
): Promise<{ result: T; seen: ApiSeen }> {
  const seen: ApiSeen = { times: [], failures: [] };
  let isOver = false;
  const read = async () => {
    for (let turn = 0; !isOver; turn += 1) {
      const path = paths[turn % paths.length] ?? '/';
      const startedAt = performance.now();
      const { status } = await api.call({ path });
      seen.times.push(performance.now() - startedAt);
      if (status !== 200) seen.failures.push(`${path} was answered ${status}`);
      await sleep(PAUSE_MS);
    }
  };
  const reading = read();
  try {
    return { result: await work(), seen };
  } finally {
    isOver = true;
    await reading;
  }
}
