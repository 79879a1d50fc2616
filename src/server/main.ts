import { ensureAdminToken } from '../auth/first-admin-token.js';
import { type Config, isLoopback } from '../config/config.js';
import { SecretBox } from '../crypto/secrets/secret-box.js';
import { connectDatabase, type Database } from '../db/connection/database.js';
import { requireReachable } from '../db/connection/health.js';
import { migrate, migrationStatus } from '../db/schema/migrate.js';
import { type EmbeddedOptions, openEmbedded } from '../embedded-postgres/open-embedded.js';
import { drain, listen, listenError, requireFreeAddress } from '../http/server/listen.js';
import { createHttpServer } from '../http/server/server.js';
import type { Logger } from '../logger.js';
import { checkMasterKey } from '../pki/master-key/master-key.js';
import { loadMasterKey } from '../pki/master-key/master-key-source.js';
import { checkFiles } from './config-files.js';
import type { Container } from './container.js';

export interface RunningServer {
  /** Where it listens; the port is the real one when PORT was 0. */
  url: string;
  /** Where devices reach this server. */
  publicUrl: string;
  /** PEM of its certificate, when it speaks TLS. */
  certificate: string | undefined;
  /** Drains and stops everything, the embedded database last. */
  stop(): Promise<void>;
}

export interface OpenDatabase {
  db: Database;
  close(): Promise<void>;
}

const DRAIN_MS = 5_000;

/**
 * The database of this configuration: DATABASE_URL, else the embedded one. `serve` owns that one;
 * `use` joins it when it runs and starts it for a moment when it does not.
 */
export async function openDatabase(
  config: Config,
  logger: Logger,
  { mode, beforeStart }: Pick<EmbeddedOptions, 'mode' | 'beforeStart'>,
): Promise<OpenDatabase> {
  const { databaseUrl, dataDir } = config;
  if (databaseUrl !== undefined) {
    await beforeStart?.();
    return await openExternal(databaseUrl, logger);
  }
  const embedded = await openEmbedded({ dataDir, logger, mode, beforeStart });
  const db = connectDatabase({ connection: embedded.connection, logger });
  const close = async () => {
    await db.close();
    await embedded.stop();
  };
  return { db, close };
}

async function openExternal(connectionString: string, logger: Logger): Promise<OpenDatabase> {
  const db = connectDatabase({ connectionString, logger });
  try {
    await requireReachable(db, connectionString);
  } catch (error) {
    await db.close();
    throw error;
  }
  return { db, close: () => db.close() };
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

function warnOfSettings(config: Config, { publicUrl, tls }: Container, logger: Logger): void {
  for (const { name, nearest } of config.unknownSettings) {
    const hint = nearest === undefined ? '.env.example has them all' : `did you mean ${nearest}?`;
    logger.warn({ variable: name }, `${name} is no setting and has no effect; ${hint}`);
  }
  const { hostname, port } = new URL(publicUrl);
  if (port === '0')
    logger.warn(
      { publicUrl },
      'PUBLIC_URL ends in port 0, which devices cannot reach; with PORT=0 set PUBLIC_URL',
    );
  if (config.tlsClientCert && tls === undefined)
    logger.warn('TLS_CLIENT_CERT=on has no effect: this server speaks plain HTTP');
  if (config.enrollment !== 'open' || isLoopback(hostname)) return;
  logger.warn(
    'ENROLLMENT=open: anyone who reaches this server can enroll a device; set link or closed',
  );
}

/** Migrates, creates what is missing, and serves. Throws when it cannot; nothing is left running. */
export async function serve(config: Config, logger: Logger): Promise<RunningServer> {
  checkFiles(config); // before anything is made
  const database = await openDatabase(config, logger, {
    mode: 'serve',
    beforeStart: () => requireFreeAddress(config),
  });
  try {
    return await serveOn(database, config, logger);
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function serveOn(
  { db, close }: OpenDatabase,
  config: Config,
  logger: Logger,
): Promise<RunningServer> {
  await refuseWrongKey(config, db, logger);
  await migrate(db, { logger });
  const box = await openSecrets(config, db, logger);
  // Every command of the command line comes by here, and few need all of the server.
  const { createContainer } = await import('./container.js');
  const container = await createContainer({ config, db, box, logger });
  if (config.adminToken === undefined) {
    await ensureAdminToken({ db, dataDir: config.dataDir, logger });
  }
  const { app, deviceHandler, tls, publicUrl } = container;
  const options = { app, deviceHandler, logger, onAnswer: container.metrics.observeRequest };
  const server = createHttpServer(tls === undefined ? options : { ...options, tls });
  const listening = container.announce().then(() => listen(server, config));
  const address = await listening.catch(async (error: unknown) => {
    await container.stopBackground();
    await container.stop();
    throw listenError(error, config);
  });
  container.start();
  warnOfSettings(config, container, logger);
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  const url = `${tls === undefined ? 'http' : 'https'}://${host}:${address.port}`;
  logger.info({ url, publicUrl }, `Muster is serving at ${url}`);
  const stop = async () => {
    await Promise.all([drain(server, DRAIN_MS), container.stopBackground()]);
    await container.stop();
    await close();
  };
  return { url, publicUrl, certificate: tls?.cert.toString(), stop };
}
