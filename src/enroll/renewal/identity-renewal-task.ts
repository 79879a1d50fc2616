import type { Task } from '../../jobs/task.js';
import { scheduledTask } from '../../jobs/tasks/scheduled-task.js';
import type { Logger } from '../../logger.js';
import type { IdentityRenewals } from './identity-renewal.js';

export interface IdentityRenewalTaskDeps {
  renewals: Pick<IdentityRenewals, 'isOffered' | 'begin' | 'advance'>;
  logger: Logger;
}

/** New renewals in one run: a million devices that enrolled on one day renew within a week. */
const MAX_BEGUN = 1_000;
/** Each needs a profile of some kilobytes to be signed and sealed. */
const DEVICES_AT_ONCE = 50;

/** Renews identities before they expire; several processes may run this at once. */
export function createIdentityRenewalTask(deps: IdentityRenewalTaskDeps): Task<undefined> {
  return scheduledTask({
    name: 'identities.renew',
    schedule: '*/10 * * * *',
    run: async ({ signal }) => {
      const { renewals, logger } = deps;
      if (!(await renewals.isOffered())) {
        logger.debug(
          'no identity is renewed: source_type of the SCEP configuration is not InternalSCEP',
        );
        return;
      }
      const begun = await renewals.begin(MAX_BEGUN);
      const { queued, renewed, failed } = await advanceAll(deps, signal);
      if (begun + queued + renewed + failed === 0) return;
      logger.info({ begun, queued, renewed, failed }, 'identities are being renewed');
    },
  });
}

async function advanceAll({ renewals, logger }: IdentityRenewalTaskDeps, signal: AbortSignal) {
  const total = { queued: 0, renewed: 0, failed: 0 };
  for (;;) {
    if (signal.aborted) return total;
    const progress = await renewals.advance(DEVICES_AT_ONCE);
    for (const failure of progress.failed) logger.warn(failure, 'an identity was not renewed');
    total.queued += progress.queued;
    total.renewed += progress.renewed;
    total.failed += progress.failed.length;
    if (progress.examined < DEVICES_AT_ONCE) return total;
  }
}
