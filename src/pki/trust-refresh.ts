import type { Logger } from '../logger.js';
import type { Trust } from './trust.js';

export interface TrustRefresh {
  start(): void;
  /** Resolves when no reading is under way. */
  stop(): Promise<void>;
}

export interface TrustRefreshDeps {
  trust: Pick<Trust, 'reload'>;
  logger: Logger;
  intervalMs?: number;
}

/** Reads the CAs again and again: another process of this server may have changed them. */
export function createTrustRefresh(deps: TrustRefreshDeps): TrustRefresh {
  const { trust, logger, intervalMs = 2_000 } = deps;
  let timer: NodeJS.Timeout | undefined;
  let reading = Promise.resolve();
  const read = async () => {
    await trust.reload().catch((error: unknown) => {
      logger.warn({ err: error }, 'the trusted CAs could not be read');
    });
    timer?.refresh();
  };
  return {
    start: () => {
      timer ??= setTimeout(() => {
        reading = read();
      }, intervalMs).unref();
    },
    stop: () => {
      clearTimeout(timer);
      timer = undefined;
      return reading;
    },
  };
}
