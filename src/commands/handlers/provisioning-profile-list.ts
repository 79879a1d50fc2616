import { mergeInventory } from '../../db/devices/inventory-merge.js';
import { type ColumnMap, listRows, readColumns } from '../reports/report-columns.js';
import { oneByOne, type ReportHandler } from '../reports/report-handler.js';

const PROFILE: ColumnMap = {
  UUID: ['profile_uuid', 'text'],
  Name: ['name', 'text'],
  ExpiryDate: ['expires_at', 'date'],
};

const TABLE = 'installed_provisioning_profiles';

/** A list of managed profiles removes none: Apple does not say which of the known ones are managed. */
export const provisioningProfileList: ReportHandler = {
  requestType: 'ProvisioningProfileList',
  readRows: (body) =>
    listRows(body, 'ProvisioningProfileList', (profile) => readColumns(profile, PROFILE)),
  handle: oneByOne(async ({ deviceId, rows, parameters }, { trx }) => {
    if (rows === undefined) return;
    const covers = parameters().ManagedOnly === true ? [] : undefined;
    await mergeInventory(trx, TABLE, { deviceId, rows, covers });
  }),
};
