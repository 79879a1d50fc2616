import { z } from 'zod';
import type { Backups } from '../../backup/server/backups.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface BackupRouteDeps {
  api: ApiContext;
  backups: Backups;
}

const TYPE = 'backups';
/** Settings decide where it is written, and whether it is encrypted. */
const NO_ATTRIBUTES = z.strictObject({});

/** A backup on request; the server also makes them by BACKUP_EVERY. */
export function backupRoutes({ api, backups }: BackupRouteDeps): ApiRoute[] {
  const make = action(api, {
    method: 'POST',
    path: `/${TYPE}`,
    isBesideList: true,
    operationId: 'makeBackup',
    tag: TYPE,
    role: 'admin',
    summary: 'Make a backup now',
    description:
      'Writes a backup into BACKUP_DIR in the background, without the master key. 409 `conflict` without ' +
      'BACKUP_DIR, and while another one is under way.',
    body: { attributes: NO_ATTRIBUTES, type: TYPE, example: {} },
    answer: { status: 202, description: 'The backup.', shows: TYPE },
    audit: { action: `${TYPE}.create`, targetType: TYPE, refusals: [] },
    run: async (trx, { context: { actor } }) => {
      const { id, file } = await backups.request(trx, {
        source: 'request',
        createdBy: actor.name,
      });
      return {
        ids: id,
        targetId: id,
        details: { file },
        location: `${api.basePath}/${TYPE}/${id}`,
      };
    },
  });
  return [make];
}
