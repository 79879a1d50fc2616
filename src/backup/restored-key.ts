import { rmSync } from 'node:fs';
import { SecretBox } from '../crypto/secrets/secret-box.js';
import { AppError } from '../errors.js';
import type { Logger } from '../logger.js';
import { masterKeyId, opensMasterKeyCheck } from '../pki/master-key/master-key.js';
import { findKeyFile, masterKeyFiles, storeKeyFile } from '../pki/master-key/master-key-file.js';
import type { ReadBackup } from './read-backup.js';

export interface KeyPlace {
  dataDir: string;
  /** MASTER_KEY. */
  configured: Buffer | undefined;
  logger: Logger;
}

/** The key in place: MASTER_KEY, else DATA_DIR/master.key; undefined: none. Makes none. */
export function findMasterKey({ dataDir, configured, logger }: KeyPlace): Buffer | undefined {
  return configured ?? findKeyFile(masterKeyFiles(dataDir).current, logger);
}

/** Puts the key of the backup in place, where it is needed, and takes it away again. */
export interface RestoredKey {
  /** Where it is put; undefined: the right key is in place, or none is needed. */
  file: string | undefined;
  store(): void;
  remove(): void;
}

const IN_PLACE: RestoredKey = {
  file: undefined,
  store: () => undefined,
  remove: () => undefined,
};

/**
 * How the secrets of a backup will open. AppError master_key_mismatch when the key in place is another
 * one, or there is none, here or in the backup.
 */
export function restoredKey({ manifest, masterKey }: ReadBackup, place: KeyPlace): RestoredKey {
  const { master_key: sealed } = manifest;
  if (sealed === null) return IN_PLACE;
  const check = Buffer.from(sealed.check, 'base64');
  const isRight = (key: Buffer) => opensMasterKeyCheck(new SecretBox(key), check);
  const own = findMasterKey(place);
  if (own !== undefined && isRight(own)) return IN_PLACE;
  const file = masterKeyFiles(place.dataDir).current;
  const wanted = sealed.id === null ? 'another one' : `another one (${sealed.id})`;
  if (own !== undefined) {
    const isSet = place.configured !== undefined;
    const stored = isSet ? findKeyFile(file, place.logger) : undefined;
    const isElsewhere = [stored, masterKey].some((key) => key !== undefined && isRight(key));
    const cure = isSet && isElsewhere ? 'Unset MASTER_KEY' : 'Put that one in its place';
    throw otherKey(own, { wanted, where: isSet ? 'MASTER_KEY' : file, cure });
  }
  if (masterKey === undefined || !isRight(masterKey)) throw noKey(file, sealed.id);
  return {
    file,
    store: () => {
      if (!storeKeyFile(file, masterKey)) throw noKey(file, sealed.id);
    },
    remove: () => rmSync(file, { force: true }),
  };
}

function otherKey(
  own: Buffer,
  { wanted, where, cure }: { wanted: string; where: string; cure: string },
): AppError {
  const id = masterKeyId(new SecretBox(own));
  const message =
    `The master key in ${where} (${id}) is not the one that the secrets of the backup are sealed ` +
    `under, which is ${wanted}; nothing was changed. ${cure}.`;
  return new AppError('master_key_mismatch', 409, message);
}

function noKey(file: string, id: string | null): AppError {
  const named = id === null ? '' : ` (${id})`;
  const message =
    `The secrets of the backup are sealed under a master key${named} that is neither here nor in the ` +
    `backup; nothing was changed. Put it into ${file}, or set MASTER_KEY.`;
  return new AppError('master_key_mismatch', 409, message);
}
