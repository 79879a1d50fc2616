import { SecretBox } from '../crypto/secrets/secret-box.js';
import { Snapshot } from '../db/backup/snapshot.js';
import type { Database } from '../db/connection/database.js';
import { migrationStatus } from '../db/schema/migrate.js';
import { AppError } from '../errors.js';
import {
  masterKeyId,
  opensMasterKeyCheck,
  refuseUnfinishedRotation,
  wrongMasterKey,
} from '../pki/master-key/master-key.js';
import { FORMAT, makeHeader } from './backup-header.js';
import { type BackupContent, type BackupProgress, backupStream } from './backup-stream.js';
import type { About } from './manifest.js';

export interface BackupRequest {
  db: Database;
  musterVersion: string;
  /** Encrypts the backup. */
  passphrase: string | undefined;
  /** The key of this server, where it is at hand. */
  masterKey?: Buffer | undefined;
  /** Its name, of a server that runs with it. */
  masterKeyId?: string | undefined;
  /** Puts the master key into the backup, which then has to be encrypted. */
  withMasterKey?: boolean | undefined;
  onProgress?: ((progress: BackupProgress) => void) | undefined;
  /** Hears which process of PostgreSQL reads for it. */
  onBackend?: ((pid: number) => void) | undefined;
}

/**
 * Reads one consistent state of the database, while others go on to change it, and passes the bytes of
 * the backup to `write`. AppError conflict when the schema is not this program's, key_rotation_unfinished
 * and master_key_mismatch as a start of the server.
 */
export async function makeBackup<T>(
  request: BackupRequest,
  write: (bytes: AsyncIterable<Buffer>) => Promise<T>,
): Promise<T> {
  const { db, passphrase, masterKey, withMasterKey = false, onProgress } = request;
  if (withMasterKey && passphrase === undefined) {
    const message =
      'the master key is only put into an encrypted backup: pass --passphrase-file FILE, or set BACKUP_PASSPHRASE';
    throw new AppError('bad_request', 400, message);
  }
  await requireSchema(db);
  await refuseUnfinishedRotation(db);
  const snapshot = await Snapshot.open(db);
  try {
    request.onBackend?.(snapshot.backendPid);
    const about = await describe(request, snapshot);
    const content: BackupContent = {
      header: await makeHeader(passphrase),
      about,
      snapshot,
      onProgress,
    };
    if (withMasterKey) content.masterKey = requireKey(masterKey, about);
    return await write(backupStream(content));
  } finally {
    await snapshot.close();
  }
}

async function requireSchema(db: Database): Promise<void> {
  const { pending, unknown } = await migrationStatus(db);
  if (unknown.length > 0) {
    const message = 'the database is newer than this Muster: make the backup with the newer one';
    throw new AppError('conflict', 409, message);
  }
  if (pending.length === 0) return;
  const message =
    'the schema of the database is older than this Muster: make the backup with the former one, or ' +
    'run `muster migrate` first';
  throw new AppError('conflict', 409, message);
}

async function describe(request: BackupRequest, snapshot: Snapshot): Promise<About> {
  return {
    format: FORMAT,
    muster_version: request.musterVersion,
    created_at: new Date().toISOString(),
    postgres_version: snapshot.serverVersion,
    migrations: [...snapshot.migrations],
    master_key: await describeKey(request, snapshot),
  };
}

async function describeKey(
  { db, masterKey, masterKeyId: id }: BackupRequest,
  snapshot: Snapshot,
): Promise<About['master_key']> {
  const check = await snapshot.masterKeyCheck();
  if (check === undefined) return null;
  const sealed = { id: id ?? null, check: check.toString('base64') };
  if (masterKey === undefined) return sealed;
  const box = new SecretBox(masterKey);
  if (!opensMasterKeyCheck(box, check)) throw await wrongMasterKey(db, box);
  return { ...sealed, id: masterKeyId(box) };
}

function requireKey(masterKey: Buffer | undefined, { master_key }: About): Buffer {
  if (masterKey !== undefined && master_key !== null) return masterKey;
  const message =
    'there is no master key yet: it is made when the server starts for the first time';
  throw new AppError('conflict', 409, message);
}
