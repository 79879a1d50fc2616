import { noteConfigured } from '../../db/device-setup-repository.js';
import type { ReportHandler } from '../report.js';

/** The device has left Setup Assistant. */
export const deviceConfigured: ReportHandler = {
  requestType: 'DeviceConfigured',
  async handle({ deviceId, commandUuid }, { trx }) {
    await noteConfigured(trx, { deviceId, uuid: commandUuid });
  },
};
