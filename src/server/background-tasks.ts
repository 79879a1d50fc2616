import { createRolloutTask } from '../assignments/rollouts/rollout-task.js';
import type { DepServices } from '../dep/dep-services.js';
import type { IdentityRenewals } from '../enroll/renewal/identity-renewal.js';
import { createIdentityRenewalTask } from '../enroll/renewal/identity-renewal-task.js';
import { createEvaluateTask } from '../groups/evaluate-task.js';
import { createGroupTasks } from '../groups/group-tasks.js';
import type { LoadedRules } from '../groups/loaded-rules.js';
import type { Task } from '../jobs/task.js';
import { createTasks, type TaskDeps } from '../jobs/tasks/index.js';
import { createRearmTask } from '../push/rearm-task.js';
import { createDeviceSetupTask } from '../setup-assistant/device-setup-task.js';
import type { DeviceSetups } from '../setup-assistant/device-setups.js';

export interface BackgroundTaskDeps extends TaskDeps {
  renewals: IdentityRenewals;
  setups: DeviceSetups;
  rules: LoadedRules;
  dep: Pick<DepServices, 'tasks'>;
}

/** Every task of the job queue. */
export function createBackgroundTasks(deps: BackgroundTaskDeps): Task[] {
  const { db, logger, renewals, setups, rules, dep } = deps;
  return [
    ...createTasks(deps),
    createRearmTask({ db, logger }),
    createIdentityRenewalTask({ renewals, logger }),
    createDeviceSetupTask({ setups }),
    createEvaluateTask({ db, logger, rules }),
    ...createGroupTasks({ db, logger }),
    createRolloutTask({ db, logger }),
    ...dep.tasks,
  ] as Task[];
}
