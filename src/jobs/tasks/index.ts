import type { CommandQueue } from '../../commands/queue.js';
import type { Config } from '../../config/config.js';
import type { Database } from '../../db/connection/database.js';
import type { Logger } from '../../logger.js';
import type { FileCertificate } from '../../pki/credentials/credential-status.js';
import type { Task } from '../task.js';
import {
  createExpireCommandsTask,
  createFindUnpushedTask,
  createPruneRecordsTask,
} from './batch-tasks.js';
import { createCheckCredentialsTask } from './check-credentials.js';
import { createCheckPushTopicsTask } from './check-push-topics.js';
import { createRefreshInventoryTask } from './refresh-inventory.js';
import { createRemoveOldAuditEventsTask } from './remove-old-audit-events.js';
import { createRemoveOldCommandsTask } from './remove-old-commands.js';

export interface TaskDeps {
  db: Database;
  logger: Logger;
  queue: Pick<CommandQueue, 'queueInventories'>;
  config: Pick<
    Config,
    'inventoryInterval' | 'changeRetention' | 'commandRetention' | 'auditRetention'
  >;
  /** The certificate of TLS_CERT_FILE. */
  tlsFile?: (() => FileCertificate | undefined) | undefined;
}

/** The scheduled tasks of the server. */
export function createTasks({ db, logger, queue, config, tlsFile }: TaskDeps): Task[] {
  const { inventoryInterval: interval, changeRetention, commandRetention, auditRetention } = config;
  const tasks: Task[] = [
    createExpireCommandsTask({ db, logger }),
    createFindUnpushedTask({ db, logger }),
    createCheckPushTopicsTask({ db, logger }),
    createPruneRecordsTask({ db, logger, changeRetention }),
    createCheckCredentialsTask({ db, logger, tlsFile }),
  ];
  if (interval !== undefined) {
    tasks.push(createRefreshInventoryTask({ db, queue, logger, interval }));
  }
  if (commandRetention !== undefined) {
    tasks.push(createRemoveOldCommandsTask({ db, logger, age: commandRetention }));
  }
  if (auditRetention !== undefined) {
    tasks.push(createRemoveOldAuditEventsTask({ db, logger, age: auditRetention }));
  }
  return tasks;
}
