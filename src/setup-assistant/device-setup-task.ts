import type { Task } from '../jobs/task.js';
import { scheduledTask } from '../jobs/tasks/scheduled-task.js';
import type { DeviceSetups } from './device-setups.js';

/** Devices in one transaction. */
const DEVICES_AT_ONCE = 100;
/** New setups in one run; the others follow a minute later. */
const MAX_BEGUN = 500;

/** Makes sure that no device stays in Setup Assistant; several processes may run this at once. */
export function createDeviceSetupTask(deps: {
  setups: Pick<DeviceSetups, 'beginMissed' | 'advance'>;
}): Task<undefined> {
  return scheduledTask({
    name: 'devices.set_up',
    schedule: '* * * * *',
    run: async ({ signal }) => {
      const { setups } = deps;
      await setups.beginMissed(MAX_BEGUN);
      for (;;) {
        signal.throwIfAborted();
        if ((await setups.advance(DEVICES_AT_ONCE)) < DEVICES_AT_ONCE) return;
      }
    },
  });
}
