import { mergeInventory } from '../../db/devices/inventory-merge.js';
import { type ColumnMap, readColumns } from '../reports/report-columns.js';
import { oneByOne, type ReportHandler } from '../reports/report-handler.js';

const RESTRICTIONS: ColumnMap = {
  GlobalRestrictions: ['global_restrictions', 'json'],
  ProfileRestrictions: ['profile_restrictions', 'json'],
};

export const restrictions: ReportHandler = {
  requestType: 'Restrictions',
  handle: oneByOne(async ({ deviceId, body }, { trx }) => {
    const row = readColumns(body, RESTRICTIONS);
    if (Object.keys(row).length === 0) return;
    await mergeInventory(trx, 'device_restrictions', { deviceId, rows: [row] });
  }),
};
