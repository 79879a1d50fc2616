import { join } from 'node:path';
import { WorkerProcesses } from '../cluster/worker-processes.js';
import type { Config } from '../config/config.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { ConnectionSettings } from '../db/connection/database.js';
import type { StandInsDescription } from '../lab-mode/stand-ins.js';
import type { Logger } from '../logger.js';
import { createContainer } from './container.js';
import {
  announceServing,
  type OpenDatabase,
  offerSignIn,
  type RunningServer,
  requireAdminToken,
} from './serving.js';

/** With what a worker serves: the configuration as the primary has read it, and what the primary has opened. */
export interface WorkerSettings {
  config: Config;
  database: { connectionString: string } | { connection: ConnectionSettings };
  standIns: StandInsDescription | undefined;
}

interface PrimaryDeps {
  database: OpenDatabase;
  box: SecretBox;
  config: Config;
  logger: Logger;
}

/** This process has the background work, the lab and the embedded database; its workers serve. */
export async function serveByWorkers(deps: PrimaryDeps): Promise<RunningServer> {
  const { database, box, config, logger } = deps;
  const { db, reach } = database;
  const role = config.role === 'all' ? 'worker' : config.role;
  const container = await createContainer({ config: { ...config, role }, db, box, logger });
  await requireAdminToken(config, db, logger);
  const standIns = container.lab?.standIns;
  const settingsFor = (port = config.port): WorkerSettings => {
    return { config: { ...config, role: 'web', port }, database: reach, standIns };
  };
  const processes = new WorkerProcesses({
    count: config.workers,
    file: join(__dirname, '..', 'cli', 'worker.js'),
    logger,
    settingsFor,
    ownMetrics: container.metrics.own,
  });
  const stop = async () => {
    await Promise.all([processes.stop(), container.stopBackground()]);
    await container.stop();
  };
  const started = container.announce().then(() => processes.start());
  const address = await started.catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  container.start();
  const { publicUrl, tls } = container;
  const url = announceServing({ container, address, config, logger });
  await offerSignIn(container, config, { db, logger });
  return {
    url,
    publicUrl,
    certificate: tls?.cert.toString(),
    failed: processes.failed,
    stop: async () => {
      await stop();
      await database.close();
    },
  };
}
