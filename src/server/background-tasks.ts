import { createRolloutTask } from '../assignments/rollouts/rollout-task.js';
import { createBackupScheduleTask } from '../backup/server/backup-schedule.js';
import { createBackupTask, type WriteBackup } from '../backup/server/backup-task.js';
import type { BackupSettings, Backups } from '../backup/server/backups.js';
import type { RisingColumn } from '../db/jobs/time-order.js';
import type { DepServices } from '../dep/dep-services.js';
import type { IdentityRenewals } from '../enroll/renewal/identity-renewal.js';
import { createIdentityRenewalTask } from '../enroll/renewal/identity-renewal-task.js';
import { createEvaluateTask } from '../groups/evaluate-task.js';
import { createGroupTasks } from '../groups/group-tasks.js';
import type { LoadedRules } from '../groups/loaded-rules.js';
import type { Task } from '../jobs/task.js';
import { createChangeLinksTask, type NamedRelationship } from '../jobs/tasks/change-links.js';
import { createCheckTimeOrderTask } from '../jobs/tasks/check-time-order.js';
import { createTasks, type TaskDeps } from '../jobs/tasks/index.js';
import { type Registry, relatedDefinition } from '../jsonapi/definition/definition.js';
import { createRearmTask } from '../push/rearm-task.js';
import { createDeviceSetupTask } from '../setup-assistant/device-setup-task.js';
import type { DeviceSetups } from '../setup-assistant/device-setups.js';
import { resourceRegistry } from './resource-services.js';

export interface BackgroundTaskDeps extends Omit<TaskDeps, 'config'> {
  config: TaskDeps['config'] & BackupSettings;
  backups: Backups;
  writeBackup: WriteBackup;
  renewals: IdentityRenewals;
  setups: DeviceSetups;
  rules: LoadedRules;
  dep: Pick<DepServices, 'tasks'>;
}

/** Every task of the job queue. */
export function createBackgroundTasks(deps: BackgroundTaskDeps): Task[] {
  const { db, logger, renewals, setups, rules, dep, backups, writeBackup } = deps;
  const settings = deps.config;
  return [
    ...createTasks(deps),
    createChangeLinksTask({ db, relationship: relationshipsOf(resourceRegistry()) }),
    createCheckTimeOrderTask({ db, columns: risingColumnsOf(resourceRegistry()) }),
    createRearmTask({ db, logger }),
    createIdentityRenewalTask({ renewals, logger }),
    createDeviceSetupTask({ setups }),
    createEvaluateTask({ db, logger, rules }),
    ...createGroupTasks({ db, logger }),
    createRolloutTask({ db, logger }),
    createBackupTask({ db, logger, settings, writeBackup }),
    createBackupScheduleTask({ db, logger, settings, backups }),
    ...dep.tasks,
  ] as Task[];
}

function risingColumnsOf(registry: Registry): RisingColumn[] {
  return [...registry.values()].flatMap(({ table, risesWithId: column }) =>
    column === undefined ? [] : [{ table, column }],
  );
}

function relationshipsOf(registry: Registry) {
  return (type: string, name: string): NamedRelationship | undefined => {
    const owner = registry.get(type);
    const relation = owner?.relationships[name];
    if (owner === undefined || relation?.kind !== 'toMany') return undefined;
    return { owner, relation, related: relatedDefinition(registry, relation) };
  };
}
