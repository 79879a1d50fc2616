import {
  bool,
  each,
  integer,
  oneOf,
  text,
  timestamp,
} from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';

const SERVER = { write: 'never', volatile: true } as const;

/** deleted: newer backups replaced its file, see BACKUP_KEEP. */
const STATES = ['waiting', 'running', 'finished', 'failed', 'deleted'] as const;

/** Finished, running and waiting backups of this server. */
export const backups = defineResource({
  type: 'backups',
  path: '/backups',
  table: 'backups',
  access: { read: 'admin', create: null, update: null, delete: null },
  attributes: {
    state: oneOf(STATES, SERVER),
    source: oneOf(['request', 'schedule', 'command'], { write: 'never' }),
    file: text({ write: 'never' }),
    is_encrypted: bool({ write: 'never' }),
    created_by: text({ write: 'never' }),
    ...each(integer(SERVER), ['tables_done', 'tables_total', 'row_count', 'bytes']),
    error: text(SERVER),
    created_at: timestamp({ write: 'never' }),
    ...each(timestamp(SERVER), ['started_at', 'finished_at']),
  },
  relationships: {},
});
