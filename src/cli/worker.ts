import { connectionsOfWorker } from '../cluster/connection-shares.js';
import { PrimaryLink } from '../cluster/primary-link.js';
import { connectDatabase } from '../db/connection/database.js';
import { createLogger } from '../logger.js';
import { createContainer } from '../server/container.js';
import { openSecrets } from '../server/main.js';
import type { WorkerSettings } from '../server/primary.js';
import { listenWith } from '../server/serving.js';
import { logLostFailures } from './process-failures.js';
import { limitHeapGrowth } from './process-memory.js';

// The program of one worker. It ends with its primary: Node.js sees to that.

const stopRequest = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(signal, () => stopRequest.abort());
}
const link = new PrimaryLink(() => stopRequest.abort());

async function serveAsWorker(): Promise<void> {
  const { number, settings } = await link.start();
  const { config, database, standIns } = settings as WorkerSettings;
  const logger = createLogger(config.logLevel).child({ worker: number });
  logLostFailures(logger);
  limitHeapGrowth();
  const sizes = connectionsOfWorker(config.workers);
  const db = connectDatabase({ ...database, sizes, logger });
  const box = await openSecrets(config, db, logger);
  const member = {
    standIns,
    otherMetrics: () => link.otherMetrics(),
    reportFailure: link.reportFailure.bind(link),
    onFailure: link.onFailure.bind(link),
  };
  const container = await createContainer({ config, db, box, logger, member });
  link.showsMetrics(container.metrics.own);
  const { address, stop } = await listenWith(container, config, logger);
  link.reportServing(address);
  await new Promise<void>((resolve) => {
    if (stopRequest.signal.aborted) resolve();
    else stopRequest.signal.addEventListener('abort', () => resolve());
  });
  await stop();
  await db.close();
}

serveAsWorker()
  .then(() => process.exit(0))
  .catch(async (error: unknown) => {
    await link.reportFailed(error instanceof Error ? error.message : String(error));
    process.exit(1);
  });
