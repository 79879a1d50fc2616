import type { PlistDict, PlistInput } from '../../protocol/plist/plist.js';
import { APPLICATION_CATALOG, type CatalogApplication } from './application-catalog.js';
import type { LabPlatform } from './device-models.js';
import type { Random } from './random.js';

const KB = 1024;
const GB = KB ** 3;

export interface Application {
  name: string;
  identifier?: string | undefined;
  shortVersion?: string | undefined;
  version?: string | undefined;
  bundleSize: number;
  dynamicSize: number;
  externalVersionIdentifier?: number | undefined;
  isFromStore: boolean;
  hasUpdateAvailable: boolean;
  isBeta: boolean;
  isManaged: boolean;
  /** As the command that installed it had them. */
  configuration?: PlistDict | undefined;
  attributes?: PlistDict | undefined;
}

const COUNTS: Record<LabPlatform, [number, number]> = { iOS: [60, 250], macOS: [150, 400] };

function versionsOf(entry: CatalogApplication, random: Random) {
  if (entry.identifier === undefined) return {};
  const shortVersion = `${random.integer(1, 16)}.${random.integer(0, 12)}.${random.integer(0, 9)}`;
  const version = random.chance(0.5) ? shortVersion : String(random.scaled(10, 900_000));
  return { identifier: entry.identifier, shortVersion, version };
}

function createApplication(entry: CatalogApplication, random: Random): Application {
  const isFromStore = entry.identifier !== undefined && random.chance(entry.isApple ? 0.3 : 0.85);
  return {
    name: entry.name,
    ...versionsOf(entry, random),
    bundleSize: random.scaled(64 * KB, 3 * GB),
    dynamicSize: random.scaled(4 * KB, GB),
    externalVersionIdentifier: isFromStore ? random.integer(815_000_000, 869_999_999) : undefined,
    isFromStore,
    hasUpdateAvailable: isFromStore && random.chance(0.12),
    isBeta: random.chance(0.02),
    isManaged: false,
  };
}

/** Apple's own applications come first on a Mac: all of them are always there. */
export function createApplications(platform: LabPlatform, random: Random): Application[] {
  const catalog = APPLICATION_CATALOG[platform];
  const isBuiltIn = (entry: CatalogApplication) => platform === 'macOS' && entry.isApple;
  const builtIn = catalog.filter(isBuiltIn);
  const rest = catalog.filter((entry) => !isBuiltIn(entry));
  const count = random.integer(...COUNTS[platform]);
  const chosen = [...builtIn, ...random.sample(rest, count - builtIn.length)];
  return chosen.map((entry) => createApplication(entry, random));
}

/** The version a device gets when a command installs an application by name or store id. */
export function createManagedApplication(identifier: string, random: Random): Application {
  const entry = { identifier, name: identifier.split('.').at(-1) ?? identifier, isApple: false };
  return { ...createApplication(entry, random), isManaged: true };
}

/** One entry of InstalledApplicationList, with the keys each platform sends. */
export function describeApplication(app: Application, platform: LabPlatform): PlistInput {
  const common = {
    Identifier: app.identifier,
    Name: app.name,
    ShortVersion: app.shortVersion,
    Version: app.version,
    BundleSize: app.bundleSize,
    ExternalVersionIdentifier: app.externalVersionIdentifier,
    HasUpdateAvailable: app.isFromStore ? app.hasUpdateAvailable : undefined,
    Installing: app.identifier === undefined ? undefined : false,
  };
  if (platform === 'macOS') return common;
  return {
    ...common,
    DynamicSize: app.dynamicSize,
    AdHocCodeSigned: false,
    AppStoreVendable: app.isFromStore,
    BetaApp: app.isBeta,
    DeviceBasedVPP: app.isManaged,
    IsValidated: true,
    IsAppClip: false,
  };
}
