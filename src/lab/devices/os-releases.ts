import type { LabPlatform } from './device-models.js';

export interface OsRelease {
  version: string;
  build: string;
}

function releases(table: Record<string, string>): OsRelease[] {
  return Object.entries(table).map(([version, build]) => ({ version, build }));
}

/** Oldest first. */
export const OS_RELEASES: Record<LabPlatform, readonly OsRelease[]> = {
  iOS: releases({
    '15.8.2': '19H384',
    '15.8.3': '19H386',
    '16.6.1': '20G81',
    '16.7.8': '20H343',
    '16.7.10': '20H350',
    '17.4.1': '21E236',
    '17.5.1': '21F90',
    '17.6.1': '21G93',
    '17.7.1': '21H216',
    '18.0.1': '22A3370',
    '18.1': '22B83',
  }),
  macOS: releases({
    '12.6.8': '21G725',
    '12.7.6': '21H1320',
    '13.6.9': '22G830',
    '13.7.1': '22H221',
    '14.5': '23F79',
    '14.6.1': '23G93',
    '14.7.1': '23H222',
    '15.0.1': '24A348',
    '15.1': '24B83',
  }),
};

/** Offered as updates; no device starts with one. Oldest first. */
const UPDATES: Record<LabPlatform, readonly OsRelease[]> = {
  iOS: releases({
    '15.8.4': '19H390',
    '16.7.11': '20H360',
    '17.7.2': '21H221',
    '18.1.1': '22B91',
  }),
  macOS: releases({
    '13.7.2': '22H313',
    '14.7.2': '23H311',
    '15.1.1': '24B91',
  }),
};

/** Oldest first. */
export function newerReleases(platform: LabPlatform, version: string): OsRelease[] {
  const all = [...OS_RELEASES[platform], ...UPDATES[platform]];
  return all
    .filter((release) => release.version !== version && isAtLeast(release.version, version))
    .sort((a, b) => (isAtLeast(a.version, b.version) ? 1 : -1));
}

const MACOS_NAMES: Record<number, string> = {
  12: 'macOS Monterey',
  13: 'macOS Ventura',
  14: 'macOS Sonoma',
  15: 'macOS Sequoia',
};

export function majorOf(version: string): number {
  return Number.parseInt(version, 10);
}

export function releaseName(platform: LabPlatform, version: string): string {
  const name = platform === 'macOS' ? MACOS_NAMES[majorOf(version)] : undefined;
  return `${name ?? platform} ${version}`;
}

/** True where `version` is `minimum` or newer; both dotted numbers. */
export function isAtLeast(version: string, minimum: string): boolean {
  const have = version.split('.').map(Number);
  const need = minimum.split('.').map(Number);
  for (let i = 0; i < Math.max(have.length, need.length); i += 1) {
    const difference = (have[i] ?? 0) - (need[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
