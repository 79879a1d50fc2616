import { LRUCache } from 'lru-cache';
import {
  type CommandTarget,
  commandAllowed,
  type Platform,
  queriesFor,
} from '../protocol/apple/command-schema.js';
import type { PlistDict } from '../protocol/plist/plist.js';

/** Facts of a device; null if not reported. A null fact excludes no command. */
export interface TargetFacts {
  platform: string | null;
  osVersion: string | null;
  isSupervised: boolean | null;
  /** False: it would not answer what only a Shared iPad does. */
  isSharedIpad?: boolean | null | undefined;
  /** Such a device answers fewer queries. */
  isUserEnrollment?: boolean | undefined;
}

export interface PlannedCommand {
  requestType: string;
  parameters: PlistDict;
}

/** DeviceInformation goes first: its report shows what else the device can answer. */
export const INVENTORY = [
  'DeviceInformation',
  'InstalledApplicationList',
  'CertificateList',
  'SecurityInfo',
  'ProfileList',
  'AvailableOSUpdates',
];

const PLATFORMS: readonly Platform[] = ['iOS', 'macOS', 'tvOS', 'visionOS', 'watchOS'];

export function platformNamed(name: string | null): Platform | undefined {
  return PLATFORMS.find((platform) => platform === name);
}

function targetOf(facts: TargetFacts, supervised: boolean): CommandTarget {
  return {
    platform: platformNamed(facts.platform),
    osVersion: facts.osVersion ?? undefined,
    supervised,
    sharedIpad: facts.isSharedIpad ?? undefined,
    userEnrollment: facts.isUserEnrollment === true,
  };
}

function isAllowed(requestType: string, facts: TargetFacts, supervised: boolean): boolean {
  return commandAllowed(requestType, targetOf(facts, supervised));
}

/** Plans by kind of device: computing one walks through Apple's schema, and a fleet has few kinds. */
const plans = new LRUCache<string, readonly PlannedCommand[]>({ max: 500 });

/**
 * The commands of a full inventory that this device supports. Those for supervised devices are left
 * out until the device has reported that it is one.
 */
export function planInventory(facts: TargetFacts): readonly PlannedCommand[] {
  const kind = JSON.stringify(Object.values(targetOf(facts, facts.isSupervised === true)));
  const known = plans.get(kind);
  if (known !== undefined) return known;
  const plan = computeInventory(facts);
  plans.set(kind, plan);
  return plan;
}

function computeInventory(facts: TargetFacts): PlannedCommand[] {
  const supervised = facts.isSupervised === true;
  return INVENTORY.filter((requestType) => isAllowed(requestType, facts, supervised)).map(
    (requestType) => ({
      requestType,
      parameters: requestType === 'DeviceInformation' ? fullInformation(facts) : {},
    }),
  );
}

/** The commands of a full inventory with all that any device may answer; a batch leaves out the rest. */
export function planFleetInventory(): PlannedCommand[] {
  const queries = PLATFORMS.flatMap((platform) =>
    queriesFor(platform, undefined, { supervised: true }),
  );
  const Queries = [...new Set(queries)];
  return INVENTORY.map((requestType) => ({
    requestType,
    parameters: requestType === 'DeviceInformation' ? { Queries } : {},
  }));
}

/** What `planInventory` left out, for a device that has just reported that it is supervised. */
export function planSupervisedInventory(facts: TargetFacts): PlannedCommand[] {
  const types = INVENTORY.filter(
    (requestType) => isAllowed(requestType, facts, true) && !isAllowed(requestType, facts, false),
  );
  const { platform, osVersion, ...others } = targetOf(facts, true);
  const Queries = queriesFor(platform, osVersion, { ...others, supervisedOnly: true });
  return [
    ...(Queries.length > 0 ? [{ requestType: 'DeviceInformation', parameters: { Queries } }] : []),
    ...types.map((requestType) => ({ requestType, parameters: {} })),
  ];
}

/** Parameters of a DeviceInformation with every query that this device can answer. */
export function fullInformation(facts: TargetFacts): PlistDict {
  const { platform, osVersion, ...others } = targetOf(facts, facts.isSupervised === true);
  return { Queries: queriesFor(platform, osVersion, others) };
}
