import { storeUpdateSchedule, storeUpdateStatus } from '../../db/devices/update-states.js';
import type { PlistDict } from '../../protocol/plist/plist.js';
import { type ColumnMap, dictsAt, listRows, readColumns } from '../reports/report-columns.js';
import type { Report, ReportHandler } from '../reports/report-handler.js';

const STATUS: ColumnMap = {
  ProductKey: ['product_key', 'text'],
  IsDownloaded: ['is_downloaded', 'boolean'],
  DownloadPercentComplete: ['download_percent_complete', 'number'],
  Status: ['status', 'text'],
  MaxDeferrals: ['max_deferrals', 'integer'],
  DeferralsRemaining: ['deferrals_remaining', 'integer'],
  NextScheduledInstall: ['next_scheduled_install', 'date'],
  PastNotifications: ['past_notifications', 'json'],
};

const SCHEDULE: ColumnMap = {
  ProductKey: ['product_key', 'text'],
  InstallAction: ['install_action', 'text'],
  Status: ['status', 'text'],
  ErrorChain: ['error_chain', 'json'],
};

/** Apple's commands of before OS 27 that say how far an update is. */
export const osUpdateStatus: ReportHandler = {
  requestType: 'OSUpdateStatus',
  async handle(reports, { trx }) {
    await storeUpdateStatus(trx, listsOf(reports, 'OSUpdateStatus', STATUS));
  },
};

export const scheduleOsUpdate: ReportHandler = {
  requestType: 'ScheduleOSUpdate',
  async handle(reports, { trx, refuse }) {
    await storeUpdateSchedule(trx, listsOf(reports, 'UpdateResults', SCHEDULE));
    for (const report of reports) {
      const refused = (dictsAt(report.body, 'UpdateResults') ?? []).filter(isRefused);
      refuse(
        report,
        refused.map((answer) => ({ item: nameOf(answer), answer })),
      );
    }
  },
};

function nameOf({ ProductKey: key }: PlistDict): string {
  return typeof key === 'string' ? key : 'an update without ProductKey';
}

/** A report without the list says nothing. */
function listsOf(reports: readonly Report[], key: string, columns: ColumnMap) {
  return reports.flatMap(({ deviceId, body }) => {
    const rows = listRows(body, key, (entry) => readColumns(entry, columns));
    return rows === undefined ? [] : [{ deviceId, rows }];
  });
}

/** Apple's InstallAction is `Error` where the device does nothing. */
function isRefused({ InstallAction: action, ErrorChain: errors }: PlistDict): boolean {
  return action === 'Error' || (Array.isArray(errors) && errors.length > 0);
}
