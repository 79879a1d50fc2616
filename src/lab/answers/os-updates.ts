import type { PlistInput } from '../../protocol/plist/plist.js';
import {
  isAtLeast,
  majorOf,
  OS_RELEASES,
  type OsRelease,
  releaseName,
} from '../devices/os-releases.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';

const GB = 1024 ** 3;

/** Newer releases that this model still gets. */
function newerReleases(device: SimulatedDevice): OsRelease[] {
  const { platform, release, model } = device.identity;
  return OS_RELEASES[platform].filter(
    ({ version }) =>
      version !== release.version &&
      isAtLeast(version, release.version) &&
      majorOf(version) <= model.majors[1],
  );
}

function iosUpdate({ version, build }: OsRelease): PlistInput {
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

function macUpdate({ version, build }: OsRelease, current: OsRelease): PlistInput {
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
function macExtras(): PlistInput[] {
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

export function availableUpdates(device: SimulatedDevice): PlistInput[] {
  const newer = newerReleases(device);
  if (device.identity.platform === 'iOS') return newer.slice(-1).map(iosUpdate);
  return [...newer.map((release) => macUpdate(release, device.identity.release)), ...macExtras()];
}
