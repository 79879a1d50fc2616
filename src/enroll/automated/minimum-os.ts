import type { ServerResponse } from 'node:http';
import type { MachineInfo } from '../../protocol/mdm/machine-info.js';
import { compareOsVersions } from '../../protocol/mdm/os-version.js';

/** What a profile of the enrollment program asks for; null where it asks for nothing. */
export interface MinimumVersions {
  minimum_ios_version: string | null;
  minimum_macos_version: string | null;
}

/**
 * - `update`: the device is told to update first.
 * - `enroll`: it enrolls; `unmet` is the minimum that it falls short of.
 */
export type MinimumVerdict =
  | { kind: 'update'; version: string }
  | { kind: 'enroll'; unmet: string | null };

const MET: MinimumVerdict = { kind: 'enroll', unmet: null };

/** Product families, with the first version that tells OS_VERSION (Apple's other/machineinfo.yaml). */
const FAMILIES = [
  { products: /^(iPhone|iPad|iPod)/i, minimum: 'minimum_ios_version', tellsSince: '17.0' },
  {
    products: /^(Mac|iMac|VirtualMac)/i,
    minimum: 'minimum_macos_version',
    tellsSince: '14.0',
  },
] as const;

type VersionFacts = Pick<MachineInfo, 'product' | 'osVersion' | 'canRequestSoftwareUpdate'>;

/**
 * Whether the device may enroll as it is. One that does not tell its version runs a system from
 * before those that do, and could not be told to update either.
 */
export function judgeMinimumOs(info: VersionFacts, minimums: MinimumVersions): MinimumVerdict {
  const { product = '', osVersion, canRequestSoftwareUpdate } = info;
  const family = FAMILIES.find(({ products }) => products.test(product));
  const version = family === undefined ? null : minimums[family.minimum];
  if (family === undefined || version === null) return MET;
  if (osVersion === undefined) {
    const isBeyondReach = (compareOsVersions(version, family.tellsSince) ?? -1) >= 0;
    return isBeyondReach ? { kind: 'enroll', unmet: version } : MET;
  }
  if ((compareOsVersions(osVersion, version) ?? 0) >= 0) return MET;
  return canRequestSoftwareUpdate
    ? { kind: 'update', version }
    : { kind: 'enroll', unmet: version };
}

/** Apple's mdm/errors/softwareupdate.required.yaml: the device updates and then asks again. */
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
