import {
  isPlistDict,
  type PlistDict,
  type PlistInput,
  PlistReal,
} from '../../protocol/plist/plist.js';
import { majorOf, newerReleases, type OsRelease, releaseName } from '../devices/os-releases.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import { acknowledged, type CommandHandler, type DeviceError, describeErrors } from './answer.js';

const GB = 1024 ** 3;

type Update = Record<string, PlistInput> & { ProductKey: string; Version: string };

/** Newer releases that this model still gets. */
function releasesFor({ identity }: SimulatedDevice): OsRelease[] {
  const { platform, release, model } = identity;
  return newerReleases(platform, release.version).filter(
    ({ version }) => majorOf(version) <= model.majors[1],
  );
}

function iosUpdate({ version, build }: OsRelease): Update {
  return {
    ProductKey: `iOSUpdate${build}`,
    ProductName: 'iOS',
    HumanReadableName: releaseName('iOS', version),
    Version: version,
    Build: build,
    DownloadSize: Math.round(1.2 * GB),
    InstallSize: 4 * GB,
    IsCritical: false,
    IsSecurityResponse: false,
    RestartRequired: true,
    AllowsInstallLater: true,
  };
}

function macUpdate({ version, build }: OsRelease, current: OsRelease): Update {
  return {
    ProductKey: `MSU_UPDATE_${build}_full_${version}`,
    HumanReadableName: releaseName('macOS', version),
    HumanReadableNameLocale: 'en-US',
    MetadataURL: `http://swcdn.apple.com/content/downloads/${build}/macOSUpd${version}.smd`,
    Version: version,
    Build: build,
    DownloadSize: 13 * GB,
    AppIdentifiersToClose: [],
    IsCritical: false,
    IsConfigDataUpdate: false,
    IsFirmwareUpdate: false,
    IsMajorOSUpdate: majorOf(version) > majorOf(current.version),
    IsSecurityResponse: false,
    RequiresBootstrapToken: true,
    RestartRequired: true,
    AllowsInstallLater: true,
  };
}

/** A Mac is also offered Safari, and its data files for protection, which need no restart. */
function macExtras(): Update[] {
  const extra = (key: string, name: string, version: string) => ({
    ProductKey: key,
    HumanReadableName: name,
    HumanReadableNameLocale: 'en-US',
    MetadataURL: `http://swcdn.apple.com/content/downloads/${key}/${name.replaceAll(' ', '')}.smd`,
    Version: version,
    Build: '',
    DownloadSize: 3_500_000,
    AppIdentifiersToClose: name === 'Safari' ? ['com.apple.Safari'] : [],
    IsCritical: name !== 'Safari',
    IsConfigDataUpdate: name !== 'Safari',
    IsFirmwareUpdate: false,
    IsMajorOSUpdate: false,
    IsSecurityResponse: false,
    RestartRequired: false,
    AllowsInstallLater: true,
  });
  return [
    extra('072-01382', 'Safari', '18.1'),
    extra('072-08727', 'XProtectPlistConfigData', '5278'),
  ];
}

function availableUpdates(device: SimulatedDevice): Update[] {
  const newer = releasesFor(device);
  if (device.identity.platform === 'iOS') return newer.slice(-1).map(iosUpdate);
  return [...newer.map((release) => macUpdate(release, device.identity.release)), ...macExtras()];
}

interface Progress {
  /** In the answer to ScheduleOSUpdate. */
  scheduled: string;
  /** In OSUpdateStatus from then on: a simulated device keeps its release. */
  later: string;
  isDownloaded: boolean;
}

const PROGRESS: Record<string, Progress> = {
  DownloadOnly: { scheduled: 'Downloading', later: 'Idle', isDownloaded: true },
  InstallASAP: { scheduled: 'Installing', later: 'Installing', isDownloaded: true },
  InstallForceRestart: { scheduled: 'Installing', later: 'Installing', isDownloaded: true },
  InstallLater: { scheduled: 'Downloading', later: 'Idle', isDownloaded: true },
  NotifyOnly: { scheduled: 'Idle', later: 'Idle', isDownloaded: false },
};

function refusedUpdate(ProductKey: string, error: Omit<DeviceError, 'domain'>): PlistInput {
  const ErrorChain = describeErrors([{ domain: 'MCMDMErrorDomain', ...error }]);
  return { ProductKey, InstallAction: 'Error', Status: 'Idle', ErrorChain };
}

function scheduleUpdate(device: SimulatedDevice, item: PlistDict): PlistInput {
  const { ProductKey: key, ProductVersion: version, InstallAction: wanted } = item;
  const update = availableUpdates(device).find(
    ({ ProductKey, Version }) => key === ProductKey || (key === undefined && version === Version),
  );
  if (update === undefined) {
    const message = 'The update is not available for this device.';
    return refusedUpdate(String(key ?? version), { code: 12_008, message });
  }
  const { ProductKey } = update;
  const isDownloaded = device.scheduledUpdates.get(ProductKey) === 'DownloadOnly';
  const next = isDownloaded ? 'InstallASAP' : 'DownloadOnly';
  const InstallAction = wanted === 'Default' ? next : String(wanted);
  const progress = PROGRESS[InstallAction];
  if (progress === undefined) {
    const message = `“${InstallAction}” is not an install action.`;
    return refusedUpdate(ProductKey, { code: 12_008, message });
  }
  device.scheduledUpdates.set(ProductKey, InstallAction);
  return { ProductKey, InstallAction, Status: progress.scheduled };
}

function namesUpdate({ ProductKey: key, ProductVersion: version }: PlistDict): boolean {
  return key !== undefined || version !== undefined;
}

const scheduleUpdates: CommandHandler = (device, { Updates: updates }) => {
  if (!Array.isArray(updates)) return { status: 'CommandFormatError' };
  const items = updates.filter(isPlistDict);
  if (!items.every(namesUpdate)) return { status: 'CommandFormatError' };
  return acknowledged({ UpdateResults: items.map((item) => scheduleUpdate(device, item)) });
};

function updateStatus([ProductKey, action]: [string, string]): PlistInput {
  const isDownloaded = PROGRESS[action]?.isDownloaded === true;
  return {
    ProductKey,
    IsDownloaded: isDownloaded,
    DownloadPercentComplete: new PlistReal(isDownloaded ? 1 : 0),
    Status: PROGRESS[action]?.later ?? 'Idle',
  };
}

/** Updates of the system by command; OS 27 has none of them. */
export const OS_UPDATE_COMMANDS: Record<string, CommandHandler> = {
  AvailableOSUpdates: (device) => acknowledged({ AvailableOSUpdates: availableUpdates(device) }),
  ScheduleOSUpdate: scheduleUpdates,
  OSUpdateStatus: ({ scheduledUpdates }) =>
    acknowledged({ OSUpdateStatus: [...scheduledUpdates].map(updateStatus) }),
};
