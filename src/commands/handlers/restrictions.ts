import { mergeInventory } from '../../db/devices/inventory-merge.js';
import { type ColumnMap, readColumns } from '../reports/report-columns.js';
import type { ReportHandler } from '../reports/report-handler.js';

const RESTRICTIONS: ColumnMap = {
  GlobalRestrictions: ['global_restrictions', 'json'],
  ProfileRestrictions: ['profile_restrictions', 'json'],
};

export const restrictions: ReportHandler = {
  requestType: 'Restrictions',
  async handle(reports, { trx }) {
    const restricted = reports.map(({ deviceId, body }) => {
      return { deviceId, rows: [readColumns(body, RESTRICTIONS)] };
    });
    await mergeInventory(trx, 'device_restrictions', restricted);
  },
};
