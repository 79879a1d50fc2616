import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { secretLabel } from '../../db/devices/device-repository.js';
import { findCurrentSecret } from '../../db/devices/device-secrets.js';
import { validationError } from '../../errors.js';
import type { JsonObject } from '../present-command.js';
import { refuseWhileChanging } from './waiting-change.js';

/** The key pair of this server to which Macs encrypt their FileVault recovery keys. */
export interface RecoveryKeyRecipient {
  /** DER of its certificate; the pair is made at the first call. */
  certificate(trx: Transaction): Promise<Buffer>;
  /** The recovery key in a CMS message; undefined for one that is encrypted to another certificate. */
  open(trx: Transaction, cms: Buffer): Promise<string | undefined>;
}

export interface RotationDeps {
  trx: Transaction;
  box: SecretBox;
  recipient: RecoveryKeyRecipient;
}

const UNLOCK = { source: { pointer: '/data/attributes/parameters/FileVaultUnlock' } };

/**
 * The parameters of a RotateFileVaultKey for a personal key with what was left out: the present
 * recovery key that unlocks the disk, and the certificate to which the Mac encrypts the new one.
 * AppError 422 when the present key is not known, 409 while another rotation waits.
 */
export async function completeRotation(
  { trx, box, recipient }: RotationDeps,
  { deviceId, parameters }: { deviceId: number; parameters: JsonObject },
): Promise<JsonObject> {
  if (parameters.KeyType !== 'personal') return parameters;
  const complete = { ...parameters };
  if (needsCurrentKey(parameters)) {
    const requestType = 'RotateFileVaultKey';
    await refuseWhileChanging(trx, { deviceId, requestType, key: 'FileVaultUnlock' });
    const kind = 'filevault_recovery_key';
    const sealed = await findCurrentSecret(trx, { deviceId, kind });
    if (sealed === undefined) throw validationError([{ detail: noKey(deviceId), ...UNLOCK }]);
    const Password = box.open(sealed, secretLabel(deviceId, kind)).toString('utf8');
    complete.FileVaultUnlock = { Password };
  }
  if (complete.ReplyEncryptionCertificate === undefined) {
    const der = await recipient.certificate(trx);
    complete.ReplyEncryptionCertificate = der.toString('base64');
  }
  return complete;
}

/** Whether a rotation is to unlock the disk with the present recovery key. */
export function needsCurrentKey({ KeyType, FileVaultUnlock }: JsonObject): boolean {
  return KeyType === 'personal' && FileVaultUnlock === undefined;
}

function noKey(deviceId: number): string {
  return (
    `no recovery key of device ${deviceId} is known: name the password of a user who can unlock ` +
    'FileVault, or install the profile of /configuration/file_vault/profile'
  );
}
