import type { Task } from '../jobs/task.js';
import { scheduledTask } from '../jobs/tasks/scheduled-task.js';
import type { DeviceSetups } from './device-setups.js';

/** In one transaction. */
const DEVICES_AT_ONCE = 100;
/** In one run; the others have their turn a minute later. */
const MOST_BEGUN = 500;

/** Sees to it that no device stays in Setup Assistant, in any number of processes at once. */
export function createDeviceSetupTask(deps: {
  setups: Pick<DeviceSetups, 'beginMissed' | 'advance'>;
}): Task<undefined> {
  return scheduledTask({
    name: 'devices.set_up',
    schedule: '* * * * *',
    run: async ({ signal }) => {
      const { setups } = deps;
      await setups.beginMissed(MOST_BEGUN);
      for (;;) {
        signal.throwIfAborted();
        if ((await setups.advance(DEVICES_AT_ONCE)) < DEVICES_AT_ONCE) return;
      }
    },
  });
}
