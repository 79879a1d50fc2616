import { once } from 'node:events';
import type { Config } from '../config.js';
import type { Logger } from '../logger.js';
import { serve } from '../main.js';

/** A stop that takes longer than this ends the process at once. */
const STOP_MS = 9_000;
/** Everything is stopped: nothing that is left open may hold the process any longer than this. */
const LINGER_MS = 250;

/** Serves until SIGTERM or SIGINT. Resolves with the exit code. */
export async function serveCommand(config: Config, logger: Logger): Promise<number> {
  let databaseLost = false;
  const wish = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      logger.info({ signal }, 'stopping');
      wish.abort();
    });
  }
  const server = await serve(config, logger, () => {
    databaseLost = true;
    logger.fatal('the embedded PostgreSQL has ended; its log is in DATA_DIR');
    wish.abort();
  });
  if (!wish.signal.aborted) await once(wish.signal, 'abort');
  const deadline = setTimeout(() => process.exit(1), STOP_MS).unref();
  await server.stop();
  clearTimeout(deadline);
  logger.info('stopped');
  const code = databaseLost ? 1 : 0;
  setTimeout(() => process.exit(code), LINGER_MS).unref();
  return code;
}
