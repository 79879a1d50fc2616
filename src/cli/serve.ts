import { once } from 'node:events';
import type { Config } from '../config/config.js';
import type { Logger } from '../logger.js';
import { serve } from '../server/main.js';
import type { RunningServer } from '../server/serving.js';
import { logLostFailures } from './process-failures.js';
import { limitHeapGrowth } from './process-memory.js';

/** A stop that takes longer than this ends the process at once. */
const STOP_MS = 9_000;
/** After the stop, handles that are still open keep the process alive for no longer than this. */
const LINGER_MS = 250;

/** Work beside serving; it ends when the signal is aborted. */
export type BesideServing = (signal: AbortSignal, server: RunningServer) => Promise<void>;

/** Serves until SIGTERM or SIGINT; rejects as `beside` does. */
export async function serveCommand(
  config: Config,
  logger: Logger,
  beside: BesideServing = untilAborted,
): Promise<void> {
  logLostFailures(logger);
  limitHeapGrowth();
  const stopRequest = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      logger.info({ signal }, 'stopping');
      stopRequest.abort();
    });
  }
  const server = await serve(config, logger);
  try {
    await Promise.race([beside(stopRequest.signal, server), server.failed]);
  } finally {
    await stop(server);
  }
  logger.info('stopped');
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

async function stop(server: RunningServer): Promise<void> {
  const deadline = setTimeout(() => process.exit(1), STOP_MS).unref();
  await server.stop();
  clearTimeout(deadline);
  setTimeout(() => process.exit(), LINGER_MS).unref(); // with the exit code set by then
}
