import { mergeInventory } from '../../db/devices/inventory-merge.js';
import { isPlistDict, type PlistDict } from '../../protocol/plist/plist.js';
import {
  assertRowCount,
  type ColumnMap,
  dictAt,
  readColumns,
  stringsAt,
} from '../reports/report-columns.js';
import type { ReportHandler } from '../reports/report-handler.js';

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
  RejectionReason: ['rejection_reason', 'prose'],
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
  async handle(reports, { trx }) {
    const lists = reports.flatMap(({ deviceId, rows, parameters }) =>
      rows === undefined
        ? []
        : [{ deviceId, rows, covers: stringsAt(parameters(), 'Identifiers') }],
    );
    await mergeInventory(trx, TABLE, lists);
  },
};

/** What became of one application; the rest of the list stays as it is. */
export const installApplication: ReportHandler = {
  requestType: 'InstallApplication',
  async handle(reports, { trx }) {
    const installing = reports.flatMap(({ deviceId, body }) => {
      const row = readColumns(body, INSTALLING);
      return row.identifier === undefined ? [] : [{ deviceId, rows: [row], covers: [] }];
    });
    await mergeInventory(trx, TABLE, installing);
  },
};
