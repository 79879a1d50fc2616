import { mergeInventory } from '../../db/devices/inventory-merge.js';
import { type ColumnMap, listRows, readColumns } from '../reports/report-columns.js';
import type { ReportHandler } from '../reports/report-handler.js';

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
  async handle(reports, { trx }) {
    const lists = reports.flatMap(({ deviceId, rows, parameters }) => {
      if (rows === undefined) return [];
      return [{ deviceId, rows, covers: parameters().ManagedOnly === true ? [] : undefined }];
    });
    await mergeInventory(trx, TABLE, lists);
  },
};
