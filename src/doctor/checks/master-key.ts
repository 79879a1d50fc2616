import type { Config } from '../../config/config.js';
import { SecretBox } from '../../crypto/secrets/secret-box.js';
import { AppError } from '../../errors.js';
import { createLogger } from '../../logger.js';
import { checkMasterKey, isMasterKey } from '../../pki/master-key/master-key.js';
import { findKeyFile, masterKeyFiles } from '../../pki/master-key/master-key-file.js';
import type { Check } from '../check.js';
import { error, ok } from '../finding.js';

const CURE =
  'Put the right master.key into DATA_DIR, or set MASTER_KEY (docs/troubleshooting.md, "The start").';
const WHY = 'The server does not start: it cannot open the secrets in the database.';

/** Whether the master key opens the stored secrets. Unlike the server's start, it does not create a key. */
export const masterKeyCheck: Check = {
  name: 'master_key',
  needs: 'schema',
  run: async ({ db, config }) => {
    const key = findMasterKey(config);
    if (key === undefined) {
      // A key that is not the right one, whatever that is, opens nothing; without secrets it is unknown.
      if ((await isMasterKey(db, new SecretBox(Buffer.alloc(32)))) === undefined) return [];
      const what = `The master key is missing: neither MASTER_KEY nor ${masterKeyFiles(config.dataDir).current} exists.`;
      return [error('master_key_missing', { what, why: WHY, cure: CURE })];
    }
    try {
      await checkMasterKey(db, new SecretBox(key));
      return [ok('master_key', 'The master key opens the stored secrets.')];
    } catch (fault) {
      if (!(fault instanceof AppError)) throw fault;
      const cure =
        fault.code === 'key_rotation_unfinished' ? 'muster keys rotate-master, as before' : CURE;
      return [error(fault.code, { what: fault.message, why: WHY, cure })];
    }
  },
};

/** MASTER_KEY, else the key in the file; undefined without either. AppError for a damaged file. */
export function findMasterKey({ masterKey, dataDir }: Config): Buffer | undefined {
  return masterKey ?? findKeyFile(masterKeyFiles(dataDir).current, createLogger('silent'));
}
