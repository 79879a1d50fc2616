import { findSetupFaults } from '../../db/devices/device-setup-profiles.js';
import { noteConfigured, updateSetup } from '../../db/devices/device-setup-repository.js';
import { oneByOne, type ReportHandler } from '../reports/report-handler.js';
import { reasonWithFaults } from '../setup-reasons.js';

/** Records that the device left Setup Assistant, and warns of profiles that were not installed. */
export const deviceConfigured: ReportHandler = {
  requestType: 'DeviceConfigured',
  handle: oneByOne(async (report, { trx, warn }) => {
    const { deviceId, commandUuid } = report;
    const ended = await noteConfigured(trx, { deviceId, uuid: commandUuid });
    if (ended === undefined) return;
    const faults = await findSetupFaults(trx, ended.id);
    if (faults.length === 0) return;
    const reason = reasonWithFaults(ended.reason, faults);
    await updateSetup(trx, ended.id, { reason });
    warn(
      report,
      { deviceId, reason },
      'a device has left Setup Assistant without all its profiles',
    );
  }),
};
