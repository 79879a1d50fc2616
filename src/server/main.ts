import { connectionsOfWorkers, PRIMARY_CONNECTIONS } from '../cluster/connection-shares.js';
import type { Config } from '../config/config.js';
import { SecretBox } from '../crypto/secrets/secret-box.js';
import {
  connectDatabase,
  type Database,
  type DatabaseOptions,
  type PoolSizes,
} from '../db/connection/database.js';
import { requireReachable } from '../db/connection/health.js';
import { keepNotice } from '../db/devices/removal-notices.js';
import { migrate, migrationStatus } from '../db/schema/migrate.js';
import { type EmbeddedOptions, openEmbedded } from '../embedded-postgres/open-embedded.js';
import { requireFreeAddress } from '../http/server/listen.js';
import type { Logger } from '../logger.js';
import { checkMasterKey } from '../pki/master-key/master-key.js';
import { loadMasterKey } from '../pki/master-key/master-key-source.js';
import { checkFiles } from './config-files.js';
import {
  announceServing,
  listenWith,
  type OpenDatabase,
  offerSignIn,
  type RunningServer,
  requireAdminToken,
} from './serving.js';

interface OpenOptions extends Pick<EmbeddedOptions, 'mode' | 'beforeStart'> {
  /** Pool sizes; by default those of a single process. */
  sizes?: PoolSizes | undefined;
  /** Processes beside this one that use the database. */
  workers?: number;
}

/**
 * The database of this configuration: DATABASE_URL, else the embedded one. The mode `serve` owns the embedded one;
 * `use` connects to it if it runs, else starts it until the database is closed.
 */
export async function openDatabase(
  config: Config,
  logger: Logger,
  { mode, beforeStart, sizes, workers = 1 }: OpenOptions,
): Promise<OpenDatabase> {
  const { databaseUrl, dataDir } = config;
  if (databaseUrl !== undefined) {
    await beforeStart?.();
    return await openExternal({ connectionString: databaseUrl, logger, sizes });
  }
  const settings = workers > 1 ? { max_connections: embeddedConnections(workers) } : undefined;
  const embedded = await openEmbedded({ dataDir, logger, mode, beforeStart, settings });
  const { connection } = embedded;
  const db = connectDatabase({ connection, logger, sizes });
  const close = async () => {
    await db.close();
    await embedded.stop();
  };
  return { db, reach: { connection }, close };
}

/** What `connectionsOfWorkers` needs, and as many for commands beside the server. */
function embeddedConnections(workers: number): string {
  return String(Math.max(60, connectionsOfWorkers(workers) + 20));
}

async function openExternal(
  options: DatabaseOptions & { connectionString: string },
): Promise<OpenDatabase> {
  const { connectionString } = options;
  const db = connectDatabase(options);
  try {
    await requireReachable(db, connectionString);
  } catch (error) {
    await db.close();
    throw error;
  }
  return { db, reach: { connectionString }, close: () => db.close() };
}

/** Opens the secrets of a migrated database, making the key on the first start. */
export async function openSecrets(
  config: Config,
  db: Database,
  logger: Logger,
): Promise<SecretBox> {
  const { dataDir, masterKey: configured } = config;
  return new SecretBox(await loadMasterKey({ db, dataDir, configured, logger }));
}

/** A wrong key is found before the first change to a database that is in use, migrations included. */
async function refuseWrongKey(config: Config, db: Database, logger: Logger): Promise<void> {
  const { applied, unknown } = await migrationStatus(db);
  if (applied.length === 0 || unknown.length > 0) return;
  await checkMasterKey(db, await openSecrets(config, db, logger));
}

/** Migrates, creates what is missing, and serves. Throws when it cannot; nothing is left running. */
export async function serve(config: Config, logger: Logger): Promise<RunningServer> {
  checkFiles(config); // before anything is made
  const { workers } = config;
  const database = await openDatabase(config, logger, {
    mode: 'serve',
    beforeStart: () => requireFreeAddress(config),
    sizes: workers > 1 ? PRIMARY_CONNECTIONS : undefined,
    workers,
  });
  try {
    return await serveOn(database, config, logger);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Of the processes that remove what is old. */
async function keepNotices(config: Config, { knex }: Database): Promise<void> {
  const { role, changeRetention, commandRetention, auditRetention } = config;
  if (role === 'web') return;
  await keepNotice(knex, 'change_retention', changeRetention);
  await keepNotice(knex, 'command_retention', commandRetention);
  await keepNotice(knex, 'audit_retention', auditRetention);
}

async function serveOn(
  database: OpenDatabase,
  config: Config,
  logger: Logger,
): Promise<RunningServer> {
  const { db } = database;
  await refuseWrongKey(config, db, logger);
  await migrate(db, { logger });
  await keepNotices(config, db);
  const box = await openSecrets(config, db, logger);
  if (config.workers > 1) {
    const { serveByWorkers } = await import('./primary.js');
    return await serveByWorkers({ database, box, config, logger });
  }
  // Every command of the command line comes by here, and few need all of the server.
  const { createContainer } = await import('./container.js');
  const container = await createContainer({ config, db, box, logger });
  await requireAdminToken(config, db, logger);
  const { address, stop } = await listenWith(container, config, logger);
  const url = announceServing({ container, address, config, logger });
  await offerSignIn(container, config, { db, logger });
  const { publicUrl, tls } = container;
  return {
    url,
    publicUrl,
    certificate: tls?.cert.toString(),
    failed: new Promise(() => undefined),
    stop: async () => {
      await stop();
      await database.close();
    },
  };
}
