import { type PlistInput, PlistReal } from '../../protocol/plist/plist.js';
import { CELLULAR_QUERIES } from '../devices/cellular-information.js';
import type { LabPlatform } from '../devices/device-models.js';
import { isAtLeast } from '../devices/os-releases.js';
import { localHostName, type SimulatedDevice } from '../devices/simulated-device.js';

/** Answers one query; undefined when this device leaves it out. */
export type QueryAnswer = (device: SimulatedDevice) => PlistInput | undefined;

const LAST_BACKUP = new Date('2024-10-30T02:14:07Z');
const LAST_SCAN = new Date('2024-11-04T08:31:55Z');

const SOFTWARE_CATALOG =
  'https://swscan.apple.com/content/catalogs/others/index-15-14-13-12-10.16-10.15.merged-1.sucatalog.gz';

function isSilicon(device: SimulatedDevice): boolean {
  return device.identity.platform === 'macOS' && device.identity.model.chip !== undefined;
}

const COMMON: Record<string, QueryAnswer> = {
  UDID: ({ identity }) => identity.udid,
  DeviceName: (device) => device.deviceName,
  OSVersion: ({ identity }) => identity.release.version,
  BuildVersion: ({ identity }) => identity.release.build,
  SupplementalBuildVersion: ({ identity }) => identity.release.build,
  ModelName: ({ identity }) => identity.model.modelName,
  ModelNumber: ({ identity }) => `${identity.model.orderNumber}LL/A`,
  ProductName: ({ identity }) => identity.model.productName,
  SerialNumber: ({ identity }) => identity.serialNumber,
  DeviceCapacity: ({ identity }) => new PlistReal(identity.capacity),
  AvailableDeviceCapacity: (device) => new PlistReal(device.availableCapacity),
  BatteryLevel: (device) =>
    new PlistReal(device.identity.model.hasBattery ? device.batteryLevel : -1),
  IsSupervised: ({ identity }) => identity.isSupervised,
  IsActivationLockEnabled: () => false,
  AwaitingConfiguration: (device) => device.isAwaitingConfiguration,
  iTunesStoreAccountIsActive: () => true,
  iTunesStoreAccountHash: (device) => device.pushToken.subarray(0, 20).toString('base64'),
  OrganizationInfo: (device) => device.organizationInfo,
  MDMOptions: (device) => device.mdmOptions,
  PushToken: (device) => device.pushToken,
  BluetoothMAC: ({ identity }) => identity.bluetoothMac,
  WiFiMAC: ({ identity }) => identity.wifiMac,
};

const IOS: Record<string, QueryAnswer> = {
  ...CELLULAR_QUERIES,
  Model: ({ identity }) => `${identity.model.orderNumber}LL`,
  IsMultiUser: (device) => device.user !== undefined,
  IsDeviceLocatorServiceEnabled: () => false,
  IsDoNotDisturbInEffect: () => false,
  IsMDMLostModeEnabled: (device) => device.isLost,
  IsCloudBackupEnabled: () => true,
  LastCloudBackupDate: () => LAST_BACKUP,
  EASDeviceIdentifier: ({ identity }) => `APPL${identity.serialNumber}`,
  DiagnosticSubmissionEnabled: () => false,
  AppAnalyticsEnabled: () => false,
  TimeZone: (device) => device.timeZone,
  SoftwareUpdateDeviceID: ({ identity }) => identity.model.productName,
  SoftwareUpdateSettings: ({ identity }) =>
    identity.isSupervised ? { RecommendationsCadence: 0 } : undefined,
  AccessibilitySettings: ({ identity }) =>
    isAtLeast(identity.release.version, '16.0') ? ACCESSIBILITY : undefined,
};

const ACCESSIBILITY = {
  BoldTextEnabled: false,
  IncreaseContrastEnabled: false,
  ReduceMotionEnabled: false,
  ReduceTransparencyEnabled: false,
  TextSize: 4,
  TouchAccommodationsEnabled: false,
  VoiceOverEnabled: false,
  ZoomEnabled: false,
};

const MACOS: Record<string, QueryAnswer> = {
  Model: ({ identity }) => identity.model.productName,
  ProvisioningUDID: (device) =>
    isSilicon(device) ? device.identity.provisioningUdid : device.identity.udid,
  IsAppleSilicon: isSilicon,
  HasBattery: ({ identity }) => identity.model.hasBattery,
  IsActivationLockSupported: () => true,
  LocalHostName: localHostName,
  HostName: (device) => device.hostName,
  SystemIntegrityProtectionEnabled: () => true,
  SupportsLOMDevice: () => false,
  ActiveManagedUsers: () => [],
  AutoSetupAdminAccounts: () => [],
  EthernetMAC: ({ identity }) => identity.ethernetMac,
  PINRequiredForEraseDevice: (device) => !isSilicon(device),
  PINRequiredForDeviceLock: () => true,
  SupportsiOSAppInstalls: isSilicon,
  SoftwareUpdateDeviceID: ({ identity }) => `${identity.model.productName}AP`,
  EACSPreflight: (device) => (isSilicon(device) ? 'success' : 'not supported'),
  OSUpdateSettings: () => ({
    CatalogURL: SOFTWARE_CATALOG,
    IsDefaultCatalog: true,
    PreviousScanDate: LAST_SCAN,
    PreviousScanResult: 0,
    PerformPeriodicCheck: true,
    AutoCheckEnabled: true,
    BackgroundDownloadEnabled: true,
    AutomaticAppInstallationEnabled: true,
    AutomaticOSInstallationEnabled: false,
    AutomaticSecurityUpdatesEnabled: true,
  }),
};

const QUERIES: Record<LabPlatform, ReadonlyMap<string, QueryAnswer>> = {
  iOS: new Map(Object.entries({ ...COMMON, ...IOS })),
  macOS: new Map(Object.entries({ ...COMMON, ...MACOS })),
};

/** What would identify a personal device. */
const PRIVATE: ReadonlySet<string> = new Set([
  'UDID',
  'ProvisioningUDID',
  'SerialNumber',
  'IMEI',
  'MEID',
  'ICCID',
  'PhoneNumber',
  'WiFiMAC',
  'BluetoothMAC',
  'EthernetMAC',
  'EASDeviceIdentifier',
  'ServiceSubscriptions',
  'iTunesStoreAccountHash',
  'PushToken',
  'MDMOptions',
]);

/** QueryResponses: what was asked for, without what this kind of device does not know. */
export function deviceInformation(device: SimulatedDevice, queries: string[]): PlistInput {
  const known = QUERIES[device.identity.platform];
  const isPersonal = device.enrollmentId !== undefined;
  const answered = queries.filter((query) => !isPersonal || !PRIVATE.has(query));
  return Object.fromEntries(answered.map((query) => [query, known.get(query)?.(device)]));
}
