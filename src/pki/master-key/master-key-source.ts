import { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import { anySealedKey, readMasterKeyCheck } from '../../db/pki/certificate-repository.js';
import { AppError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { isMasterKey, refuseUnfinishedRotation, rotationUnfinished } from './master-key.js';
import {
  findKeyFile,
  type MasterKeyFiles,
  makeKeyFile,
  masterKeyFiles,
  readKeyFile,
} from './master-key-file.js';

export interface MasterKeyDeps {
  db: Database;
  dataDir: string;
  /** MASTER_KEY of the environment. */
  configured: Buffer | undefined;
  logger: Logger;
}

/**
 * The key that seals every secret: MASTER_KEY, else DATA_DIR/master.key, which is made on the first
 * start only. With sealed data and no key it refuses (master_key_mismatch), as it does while a
 * rotation is unfinished (key_rotation_unfinished), and changes nothing.
 */
export async function loadMasterKey(deps: MasterKeyDeps): Promise<Buffer> {
  const { db, dataDir, configured, logger } = deps;
  await refuseUnfinishedRotation(db);
  if (configured !== undefined) return configured;
  const files = masterKeyFiles(dataDir);
  await refuseUnadopted(deps, files);
  const key = findKeyFile(files.current, logger);
  if (key !== undefined) return key;
  if (await hasSealedData(db)) {
    throw new AppError(
      'master_key_mismatch',
      500,
      `The database holds secrets, but MASTER_KEY is not set and ${files.current} is missing. ` +
        'Set the key that they are sealed with; nothing was changed.',
    );
  }
  if (makeKeyFile(files.current)) {
    logger.info(
      { file: files.current },
      'master key made; keep a copy apart from the database backups',
    );
  }
  return readKeyFile(files.current, logger);
}

/** The last step of a rotation renames the files; before it the current file has the former key. */
async function refuseUnadopted({ db, logger }: MasterKeyDeps, { current, next }: MasterKeyFiles) {
  const isRight = async (file: string) => {
    const key = findKeyFile(file, logger);
    return key !== undefined && (await isMasterKey(db, new SecretBox(key))) === true;
  };
  if (!(await isRight(next)) || (await isRight(current))) return;
  throw rotationUnfinished(`the new key is still in ${next}`);
}

async function hasSealedData(db: Database): Promise<boolean> {
  if ((await readMasterKeyCheck(db.knex)) !== undefined) return true;
  return (await anySealedKey(db.knex)) !== undefined;
}
