import type { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import type { Database } from '../../src/db/connection/database.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { storeNewAuthority } from '../../src/pki/authority/stored-authority.js';
import { preparedKeys } from './prepared-keys.js';

/** The CA that the product would make at the first start, with a prepared key. */
export async function storePreparedAuthority(db: Database, box: SecretBox): Promise<void> {
  const keys = await preparedKeys('authority');
  await inTransaction(db, (trx) => storeNewAuthority(trx, box, { keys, now: new Date() }));
}
