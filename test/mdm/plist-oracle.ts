import oracle from 'plist';
import { fixture } from '../protocol/plist/plist-fixtures.js';

type Columns = Record<string, unknown>;

/** Read by another library and renamed by these pairs: the oracle for the long lists. */
export function renamed(path: string, key: string, names: [string, string][]): Columns[] {
  const document = oracle.parse(fixture(path).toString('utf8')) as unknown as {
    [key: string]: Columns[];
  };
  return (document[key] ?? []).map((entry) =>
    Object.fromEntries(
      names.flatMap(([from, to]) => (entry[from] === undefined ? [] : [[to, entry[from]]])),
    ),
  );
}

export const APPLICATION: [string, string][] = [
  ['Identifier', 'bundle_identifier'],
  ['Name', 'name'],
  ['ShortVersion', 'short_version'],
  ['Version', 'version'],
  ['BundleSize', 'bundle_size'],
  ['DynamicSize', 'dynamic_size'],
  ['IsValidated', 'is_validated'],
  ['ExternalVersionIdentifier', 'external_version_identifier'],
  ['AdHocCodeSigned', 'adhoc_codesigned'],
  ['AppStoreVendable', 'appstore_vendable'],
  ['BetaApp', 'beta_app'],
  ['DeviceBasedVPP', 'device_based_vpp'],
  ['HasUpdateAvailable', 'has_update_available'],
  ['Installing', 'installing'],
];

export const OS_UPDATE: [string, string][] = [
  ['AllowsInstallLater', 'allows_install_later'],
  ['AppIdentifiersToClose', 'app_identifiers_to_close'],
  ['HumanReadableName', 'human_readable_name'],
  ['HumanReadableNameLocale', 'human_readable_name_locale'],
  ['IsConfigDataUpdate', 'is_config_data_update'],
  ['IsCritical', 'is_critical'],
  ['IsFirmwareUpdate', 'is_firmware_update'],
  ['MetadataURL', 'metadata_url'],
  ['ProductKey', 'product_key'],
  ['RestartRequired', 'restart_required'],
  ['Version', 'version'],
];
