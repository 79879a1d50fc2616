import type { Config } from '../../config/config.js';
import { AppError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import {
  adoptNextKey,
  findKeyFile,
  makeKeyFile,
  masterKeyFiles,
  readKeyFile,
} from './master-key-file.js';

/** The former and the new key of a rotation, in the environment or in files. */
export interface RotationKeys {
  /** Where the keys are, for messages. */
  readonly place: string;
  /** AppError master_key_mismatch where it is missing. */
  former(): Buffer;
  /** undefined until `make` was called. */
  next(): Buffer | undefined;
  make(): Buffer;
  /** Makes the next key the current one. Returns the instructions that remain for the admin. */
  adopt(formerId: string): string;
}

export interface RotationKeyOptions {
  config: Pick<Config, 'dataDir' | 'masterKey'>;
  logger: Logger;
  /** The new key, where MASTER_KEY is set. */
  given?: Buffer | undefined;
}

/** AppError bad_request for a new key while the keys are files of DATA_DIR. */
export function rotationKeys({ config, logger, given }: RotationKeyOptions): RotationKeys {
  const { dataDir, masterKey } = config;
  if (masterKey !== undefined) return configuredKeys(masterKey, given);
  if (given === undefined) return keysInFiles(dataDir, logger);
  const message = 'without MASTER_KEY the new key is made in DATA_DIR; do not pass one';
  throw new AppError('bad_request', 400, message);
}

function configuredKeys(former: Buffer, given: Buffer | undefined): RotationKeys {
  return {
    place: 'MASTER_KEY',
    former: () => former,
    next: () => given,
    make: () => {
      const message =
        'MASTER_KEY is set, so pass the new key: as NEW_MASTER_KEY, or in a file with ' +
        '--new-key-file (openssl rand -base64 32)';
      throw new AppError('bad_request', 400, message);
    },
    adopt: () =>
      'Set MASTER_KEY to the new key before the next start. Keep the former one for older backups ' +
      'of the database.',
  };
}

function keysInFiles(dataDir: string, logger: Logger): RotationKeys {
  const files = masterKeyFiles(dataDir);
  return {
    place: files.current,
    former: () => {
      const key = findKeyFile(files.current, logger);
      if (key !== undefined) return key;
      throw new AppError('master_key_mismatch', 500, `${files.current} is missing`);
    },
    next: () => findKeyFile(files.next, logger),
    make: () => {
      makeKeyFile(files.next);
      return readKeyFile(files.next, logger);
    },
    adopt: (formerId) => {
      const kept = adoptNextKey(files, formerId);
      return `The new key is in ${files.current}; the former one, for older backups, in ${kept}.`;
    },
  };
}
