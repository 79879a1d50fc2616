// What commands beside the server open: its database, and the secrets in it.
import { loadConfig, withHttps } from '../config/config.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import { migrationStatus } from '../db/schema/migrate.js';
import { AppError, unavailable } from '../errors.js';
import { createLogger } from '../logger.js';
import { checkMasterKey } from '../pki/master-key/master-key.js';
import { openTlsCertificates } from '../pki/tls/tls-certificates.js';
import { openDatabase, openSecrets } from '../server/main.js';
import type { OpenBackupIo } from './backup/backup.js';
import type { RestoreIo } from './backup/restore.js';
import type { WithDatabase } from './keys/keys.js';
import type { LinkIo } from './link/link.js';
import { requireDatabase } from './missing-database.js';
import type { OpenPushCert } from './push-cert/push-cert-services.js';

/** Opens the running server's database, or starts the embedded one for this command. */
export async function withDatabase(
  work: (db: Database) => Promise<void>,
  logger = createLogger('warn'),
): Promise<void> {
  const config = loadConfig();
  const { db, close } = await openDatabase(config, logger, { mode: 'use' });
  try {
    await work(db);
  } finally {
    await close();
  }
}

/**
 * As `withDatabase`, for what reads or changes what the server has stored: AppError unavailable where it never ran.
 * `command`: what was called, after `muster`.
 */
export async function withServedDatabase(
  command: string,
  work: (db: Database) => Promise<void>,
  logger = createLogger('warn'),
): Promise<void> {
  const config = loadConfig();
  requireDatabase(config, command);
  await withDatabase(async (db) => {
    await requireTables(db);
    await work(db);
  }, logger);
}

/** AppError unavailable where no server ran, or another program has its tables. */
export async function requireTables(db: Database): Promise<void> {
  const { applied, unknown } = await migrationStatus(db);
  if (applied.length + unknown.length > 0) return;
  const { databaseUrl, dataDir } = loadConfig();
  const where = databaseUrl === undefined ? `in DATA_DIR (${dataDir})` : 'that DATABASE_URL names';
  throw unavailable(
    `The database ${where} has no tables of Muster. Set the one of the server, or start it: muster serve`,
  );
}

/** As `withServedDatabase`, with the configuration of the master key. */
export const withKeys: WithDatabase = (work) => {
  const [config, logger] = [loadConfig(), createLogger('warn')];
  return withCurrentSchema('keys')((db) => work({ config, db, logger }));
};

/** As `withKeys`, with nothing on standard output, where a backup may go. */
export function withBackup(command: string): OpenBackupIo {
  return (work) => {
    const [config, logger] = [loadConfig(), createLogger('warn', process.stderr)];
    return withServedDatabase(command, (db) => work({ config, db, logger }), logger);
  };
}

/** The configuration now, and the database once it is needed. */
export function openForRestore(): Pick<RestoreIo, 'config' | 'logger' | 'withDatabase'> {
  return { config: loadConfig(), logger: createLogger('warn'), withDatabase };
}

/** As `withServedDatabase`; AppError conflict where the schema is not this program's. */
export function withCurrentSchema(
  command: string,
): (work: (db: Database) => Promise<void>) => Promise<void> {
  return (work) =>
    withServedDatabase(command, async (db) => {
      await requireSchema(db);
      await work(db);
    });
}

/** A command changes no schema under the processes that serve it. */
async function requireSchema(db: Database): Promise<void> {
  const { pending, unknown } = await migrationStatus(db);
  if (pending.length + unknown.length === 0) return;
  const message =
    unknown.length > 0
      ? 'the database is newer than this Muster: use the version that its server has'
      : 'the schema of the database is older than this Muster: run `muster migrate` first';
  throw new AppError('conflict', 409, message);
}

/** As `withCurrentSchema`, with the stored secrets open and the URL that devices use. */
export const withLinks: LinkIo['withLinks'] = (work) => {
  const config = loadConfig();
  return withCurrentSchema('link')(async (db) => {
    const logger = createLogger('warn', process.stderr);
    const box = await openSecrets(config, db, logger);
    await checkMasterKey(db, box);
    const silent = createLogger('fatal', process.stderr);
    const { servesTls } = await openTlsCertificates({ config, db, box, logger: silent });
    const { publicUrl } = servesTls ? withHttps(config) : config;
    await work({ db, box, publicUrl, adminToken: config.adminToken });
  });
};

/** As `withCurrentSchema`, with the stored secrets open. */
export const withPushCert: OpenPushCert = (work) => {
  const config = loadConfig();
  return withCurrentSchema('push-cert')(async (db) => {
    const box = await openSecrets(config, db, createLogger('warn', process.stderr));
    await checkMasterKey(db, box);
    const { createPushCertServices } = await import('./push-cert/push-cert-services.js');
    await work(createPushCertServices({ db, box, config }));
  });
};

/** The stored secrets of a database that is open. */
export function openStoredSecrets(db: Database): Promise<SecretBox> {
  return openSecrets(loadConfig(), db, createLogger('warn'));
}
