import { mergeInventory } from '../../db/devices/inventory-merge.js';
import { isPlistDict, type PlistDict } from '../../protocol/plist/plist.js';
import {
  assertRowCount,
  type ColumnMap,
  dictAt,
  readColumns,
  stringsAt,
} from '../reports/report-columns.js';
import { oneByOne, type ReportHandler } from '../reports/report-handler.js';

const APPLICATION: ColumnMap = {
  Status: ['status', 'text'],
  ManagementFlags: ['management_flags', 'integer'],
  HasConfiguration: ['has_configuration', 'boolean'],
  HasFeedback: ['has_feedback', 'boolean'],
  IsValidated: ['is_validated', 'boolean'],
  ExternalVersionIdentifier: ['external_version_identifier', 'integer'],
};

const INSTALLING: ColumnMap = {
  Identifier: ['identifier', 'text'],
  State: ['status', 'text'],
  RejectionReason: ['rejection_reason', 'text'],
};

const TABLE = 'managed_applications';

/** A list of named applications says nothing of others. */
export const managedApplicationList: ReportHandler = {
  requestType: 'ManagedApplicationList',
  readRows(body) {
    const list = dictAt(body, 'ManagedApplicationList');
    if (list === undefined) return undefined;
    const entries = Object.entries(list).filter((entry): entry is [string, PlistDict] =>
      isPlistDict(entry[1]),
    );
    assertRowCount(entries.length, 'ManagedApplicationList');
    return entries.map(([identifier, application]) => {
      return { identifier, ...readColumns(application, APPLICATION) };
    });
  },
  handle: oneByOne(async ({ deviceId, rows, parameters }, { trx }) => {
    if (rows === undefined) return;
    const covers = stringsAt(parameters(), 'Identifiers');
    await mergeInventory(trx, TABLE, { deviceId, rows, covers });
  }),
};

/** What became of one application; the rest of the list stays as it is. */
export const installApplication: ReportHandler = {
  requestType: 'InstallApplication',
  handle: oneByOne(async ({ deviceId, body }, { trx }) => {
    const row = readColumns(body, INSTALLING);
    if (row.identifier === undefined) return;
    await mergeInventory(trx, TABLE, { deviceId, rows: [row], covers: [] });
  }),
};
