import type { ServerResponse } from 'node:http';
import type { MachineInfo } from '../../protocol/mdm/machine-info.js';
import { compareOsVersions } from '../../protocol/mdm/os-version.js';

/** The minimum versions of a DEP profile; null: none. */
export interface MinimumVersions {
  minimum_ios_version: string | null;
  minimum_macos_version: string | null;
}

/**
 * - `update`: the device has to update first.
 * - `enroll`: it enrolls; `unmet` is the minimum version that it does not meet.
 */
export type MinimumVerdict =
  | { kind: 'update'; version: string }
  | { kind: 'enroll'; unmet: string | null };

const MET: MinimumVerdict = { kind: 'enroll', unmet: null };

/** Product families, with the first version that sends OS_VERSION (Apple's other/machineinfo.yaml). */
const FAMILIES = [
  { products: /^(iPhone|iPad|iPod)/i, minimum: 'minimum_ios_version', reportsVersionSince: '17.0' },
  {
    products: /^(Mac|iMac|VirtualMac)/i,
    minimum: 'minimum_macos_version',
    reportsVersionSince: '14.0',
  },
] as const;

type VersionFacts = Pick<MachineInfo, 'product' | 'osVersion' | 'canRequestSoftwareUpdate'>;

/**
 * Whether the device may enroll with its current system. One that does not send its version runs a
 * system older than `reportsVersionSince`, which cannot be asked to update either.
 */
export function judgeMinimumOs(info: VersionFacts, minimums: MinimumVersions): MinimumVerdict {
  const { product = '', osVersion, canRequestSoftwareUpdate } = info;
  const family = FAMILIES.find(({ products }) => products.test(product));
  const version = family === undefined ? null : minimums[family.minimum];
  if (family === undefined || version === null) return MET;
  if (osVersion === undefined) {
    const isTooOld = (compareOsVersions(version, family.reportsVersionSince) ?? -1) >= 0;
    return isTooOld ? { kind: 'enroll', unmet: version } : MET;
  }
  if ((compareOsVersions(osVersion, version) ?? 0) >= 0) return MET;
  return canRequestSoftwareUpdate
    ? { kind: 'update', version }
    : { kind: 'enroll', unmet: version };
}

/** Apple's mdm/errors/softwareupdate.required.yaml: the device updates and then enrolls again. */
export function sendUpdateRequired(res: ServerResponse, version: string): void {
  const body = JSON.stringify({
    code: 'com.apple.softwareupdate.required',
    description: `version ${version} or later is required`,
    message: `This device must be updated to version ${version} before it can be enrolled.`,
    details: { OSVersion: version },
  });
  res.writeHead(403, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
  });
  res.end(body);
}
