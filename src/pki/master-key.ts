import type { SecretBox } from '../crypto/secret-box.js';
import { anySealedKey, readMasterKeyCheck } from '../db/certificate-repository.js';
import type { Database } from '../db/database.js';
import { AppError } from '../errors.js';

const CHECK_IDENTITY = 'server_settings/master_key_check';
const CHECK_TEXT = Buffer.from('muster master key');

/** What a later start must be able to open. */
export function sealMasterKeyCheck(box: SecretBox): Buffer {
  return box.seal(CHECK_TEXT, CHECK_IDENTITY);
}

/** The identity that the sealed bytes of a private key are bound to. */
export function privateKeyIdentity(fingerprint: string): string {
  return `rsa_private_keys/${fingerprint}`;
}

function openOrRefuse(box: SecretBox, sealed: Buffer, identity: string): void {
  try {
    box.open(sealed, identity);
  } catch (cause) {
    const message =
      'MASTER_KEY is not the key that this database was made with; nothing was changed. ' +
      'Give the former key (MASTER_KEY or DATA_DIR/master.key), or another database.';
    throw new AppError('master_key_mismatch', 500, message, { cause });
  }
}

/** Refuses (master_key_mismatch) when stored secrets do not open. Reads only. */
export async function checkMasterKey(db: Database, box: SecretBox): Promise<void> {
  const check = await readMasterKeyCheck(db.knex);
  if (check !== undefined) openOrRefuse(box, check, CHECK_IDENTITY);
  const key = await anySealedKey(db.knex);
  if (key === undefined) return;
  openOrRefuse(box, key.sealed_pkcs8, privateKeyIdentity(key.fingerprint_sha256));
}
