import {
  type Listed,
  markApplicationsListed,
  replaceListed,
} from '../../db/devices/listed-inventory.js';
import {
  type ColumnMap,
  listRows,
  listScope,
  readColumns,
  stringsAt,
} from '../reports/report-columns.js';
import type { Report, ReportHandler } from '../reports/report-handler.js';

const APPLICATION: ColumnMap = {
  Identifier: ['bundle_identifier', 'text'],
  Name: ['name', 'text'],
  ShortVersion: ['short_version', 'text'],
  Version: ['version', 'text'],
  BundleSize: ['bundle_size', 'integer'],
  DynamicSize: ['dynamic_size', 'integer'],
  IsValidated: ['is_validated', 'boolean'],
  ExternalVersionIdentifier: ['external_version_identifier', 'integer'],
  DistributorIdentifier: ['distributor_identifier', 'text'],
  AdHocCodeSigned: ['adhoc_codesigned', 'boolean'],
  AppStoreVendable: ['appstore_vendable', 'boolean'],
  BetaApp: ['beta_app', 'boolean'],
  DeviceBasedVPP: ['device_based_vpp', 'boolean'],
  HasUpdateAvailable: ['has_update_available', 'boolean'],
  Installing: ['installing', 'boolean'],
  IsAppClip: ['is_app_clip', 'boolean'],
  DownloadFailed: ['download_failed', 'boolean'],
  DownloadCancelled: ['download_cancelled', 'boolean'],
  DownloadPaused: ['download_paused', 'boolean'],
  DownloadWaiting: ['download_waiting', 'boolean'],
  Source: ['source', 'text'],
};

export const installedApplicationList: ReportHandler = {
  requestType: 'InstalledApplicationList',
  readRows: (body) =>
    listRows(body, 'InstalledApplicationList', (entry) => readColumns(entry, APPLICATION)),
  async handle(reports, { trx }) {
    const lists = reports.flatMap(listOf);
    await replaceListed(trx, 'installed_applications', lists);
    const whole = lists.filter(isWhole).map(({ deviceId }) => deviceId);
    await markApplicationsListed(trx, whole);
  },
};

function isWhole({ scope }: Listed): boolean {
  return scope.named === undefined && !scope.isManagedOnly;
}

function listOf({ deviceId, rows, parameters }: Report): Listed[] {
  if (rows === undefined) return [];
  const requested = parameters();
  const items = stringsAt(requested, 'Items') ?? [];
  const isPartial = items.length > 0;
  // Without an identifier an entry names no application.
  if (isPartial && !items.includes('Identifier')) return [];
  const scope = listScope(requested, 'ManagedAppsOnly');
  return [{ deviceId, rows, scope, isPartial }];
}
