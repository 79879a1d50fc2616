import { createHash } from 'node:crypto';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import { anySealedKey, readMasterKeyCheck } from '../../db/pki/certificate-repository.js';
import {
  type MasterKeyChange,
  readMasterKeyChange,
  readRotation,
} from '../../db/pki/reseal-repository.js';
import { AppError } from '../../errors.js';

const CHECK_LABEL = 'server_settings/master_key_check';
const CHECK_TEXT = Buffer.from('muster master key');

/** Sealed bytes that a later start must be able to open. */
export function sealMasterKeyCheck(box: SecretBox): Buffer {
  return box.seal(CHECK_TEXT, CHECK_LABEL);
}

/** Whether the check was sealed under this key. */
export function opensMasterKeyCheck(box: SecretBox, check: Buffer): boolean {
  return opens(box, check, CHECK_LABEL);
}

/** The seal label of a stored private key. */
export function privateKeyLabel(fingerprint: string): string {
  return `rsa_private_keys/${fingerprint}`;
}

/** The name of a master key, which reveals nothing about it: 8 hexadecimal digits. */
export function masterKeyId(box: SecretBox): string {
  return createHash('sha256').update(box.deriveKey('key id')).digest('hex').slice(0, 8);
}

export function rotationUnfinished(how: string): AppError {
  const message =
    `A rotation of the master key is not finished: ${how}. Run \`muster keys rotate-master\` again, ` +
    'as it was run before; nothing was changed.';
  return new AppError('key_rotation_unfinished', 500, message);
}

/** Refuses (key_rotation_unfinished) while the sealed values are under two keys. Reads only. */
export async function refuseUnfinishedRotation({ knex }: Pick<Database, 'knex'>): Promise<void> {
  const rotation = await readRotation(knex);
  if (rotation === undefined) return;
  const since = rotation.startedAt.toISOString();
  throw rotationUnfinished(`since ${since} only some of the secrets are under the new key`);
}

/** Whether the stored secrets are under this key; undefined where there are none. Reads only. */
export async function isMasterKey(
  { knex }: Pick<Database, 'knex'>,
  box: SecretBox,
): Promise<boolean | undefined> {
  const check = await readMasterKeyCheck(knex);
  if (check !== undefined && !opensMasterKeyCheck(box, check)) return false;
  const key = await anySealedKey(knex);
  if (key === undefined) return check && true;
  return opens(box, key.sealed_pkcs8, privateKeyLabel(key.fingerprint_sha256));
}

/** An error that names the right key, if it is known. Reads only. */
export async function wrongMasterKey(
  { knex }: Pick<Database, 'knex'>,
  box: SecretBox,
): Promise<AppError> {
  const keyId = masterKeyId(box);
  const change = await readMasterKeyChange(knex);
  return new AppError('master_key_mismatch', 500, mismatchText(keyId, change));
}

/**
 * Refuses when stored secrets do not open (master_key_mismatch), or not all of them yet
 * (key_rotation_unfinished). Reads only.
 */
export async function checkMasterKey(db: Database, box: SecretBox): Promise<void> {
  await refuseUnfinishedRotation(db);
  if ((await isMasterKey(db, box)) === false) throw await wrongMasterKey(db, box);
}

function opens(box: SecretBox, sealed: Buffer, sealLabel: string): boolean {
  try {
    box.open(sealed, sealLabel);
    return true;
  } catch {
    return false;
  }
}

function mismatchText(keyId: string, change: MasterKeyChange | undefined): string {
  const where = 'MASTER_KEY or DATA_DIR/master.key';
  if (change === undefined) {
    return (
      `The master key (${keyId}) is not the one that this database was made with; nothing was ` +
      `changed. Set the former key (${where}), or use another database.`
    );
  }
  const day = change.changedAt.toISOString().slice(0, 10);
  if (keyId === change.former) {
    return (
      `The master key was changed on ${day}, and this is the former one (${keyId}); set ` +
      `${where} to the new key (${change.present}). Nothing was changed.`
    );
  }
  return (
    `The master key (${keyId}) is not the one that this database is under since ${day} ` +
    `(${change.present}); nothing was changed. Set that key (${where}), or use another database.`
  );
}
