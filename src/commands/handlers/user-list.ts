import { mergeInventory } from '../../db/devices/inventory-merge.js';
import { type ColumnMap, listRows, readColumns } from '../reports/report-columns.js';
import type { ReportHandler } from '../reports/report-handler.js';

const USER: ColumnMap = {
  UserName: ['user_name', 'text'],
  FullName: ['full_name', 'text'],
  UID: ['uid', 'integer'],
  UserGUID: ['user_guid', 'text'],
  IsLoggedIn: ['is_logged_in', 'boolean'],
  HasDataToSync: ['has_data_to_sync', 'boolean'],
  HasSecureToken: ['has_secure_token', 'boolean'],
  MobileAccount: ['is_mobile_account', 'boolean'],
  DataQuota: ['data_quota', 'integer'],
  DataUsed: ['data_used', 'integer'],
};

/** The accounts of a Mac, or the users whose data a Shared iPad keeps. */
export const userList: ReportHandler = {
  requestType: 'UserList',
  readRows: (body) => listRows(body, 'Users', (user) => readColumns(user, USER)),
  async handle(reports, { trx }) {
    const lists = reports.flatMap(({ deviceId, rows }) =>
      rows === undefined ? [] : [{ deviceId, rows }],
    );
    await mergeInventory(trx, 'local_users', lists);
  },
};
