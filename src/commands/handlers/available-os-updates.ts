import { replaceUpdates } from '../../db/devices/available-updates.js';
import { type ColumnMap, listRows, readColumns } from '../reports/report-columns.js';
import type { ReportHandler } from '../reports/report-handler.js';

const UPDATE: ColumnMap = {
  AllowsInstallLater: ['allows_install_later', 'boolean'],
  AppIdentifiersToClose: ['app_identifiers_to_close', 'json'],
  Build: ['build', 'text'],
  DeferredUntil: ['deferred_until', 'date'],
  DownloadSize: ['download_size', 'integer'],
  HumanReadableName: ['human_readable_name', 'text'],
  HumanReadableNameLocale: ['human_readable_name_locale', 'text'],
  InstallSize: ['install_size', 'integer'],
  IsConfigDataUpdate: ['is_config_data_update', 'boolean'],
  IsCritical: ['is_critical', 'boolean'],
  IsFirmwareUpdate: ['is_firmware_update', 'boolean'],
  IsMajorOSUpdate: ['is_major_os_update', 'boolean'],
  IsSecurityResponse: ['is_security_response', 'boolean'],
  MetadataURL: ['metadata_url', 'prose'],
  ProductKey: ['product_key', 'text'],
  ProductName: ['product_name', 'text'],
  RequiresBootstrapToken: ['requires_bootstrap_token', 'boolean'],
  RestartRequired: ['restart_required', 'boolean'],
  SupplementalBuildVersion: ['supplemental_build_version', 'text'],
  SupplementalOSVersionExtra: ['supplemental_os_version_extra', 'text'],
  Version: ['version', 'text'],
};

export const availableOsUpdates: ReportHandler = {
  requestType: 'AvailableOSUpdates',
  readRows: (body) => listRows(body, 'AvailableOSUpdates', (update) => readColumns(update, UPDATE)),
  handle: async (reports, { trx }) => {
    const lists = reports.flatMap(({ deviceId, rows }) =>
      rows === undefined ? [] : [{ deviceId, rows }],
    );
    await replaceUpdates(trx, lists);
  },
};
