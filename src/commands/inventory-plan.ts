import { LRUCache } from 'lru-cache';
import {
  type CommandTarget,
  commandAllowed,
  type Platform,
  queriesFor,
} from '../protocol/apple/command-schema.js';
import type { PlistDict } from '../protocol/plist/plist.js';

/** What is known of a device; null where it has not said. An unknown fact is no misfit. */
export interface TargetFacts {
  platform: string | null;
  osVersion: string | null;
  isSupervised: boolean | null;
  /** A person's own device, which answers less. */
  isUserEnrollment?: boolean;
}

export interface PlannedCommand {
  requestType: string;
  parameters: PlistDict;
}

/** DeviceInformation goes first: its answer tells what else the device can be asked. */
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
    userEnrollment: facts.isUserEnrollment === true,
  };
}

function isAllowed(requestType: string, facts: TargetFacts, supervised: boolean): boolean {
  return commandAllowed(requestType, targetOf(facts, supervised));
}

/** A fleet has few kinds of devices, and working a plan out means a walk through Apple's schema. */
const plans = new LRUCache<string, readonly PlannedCommand[]>({ max: 500 });

/**
 * The queries of a full inventory that this device can take. What only a supervised device answers
 * is left out until the device has said that it is one.
 */
export function planInventory(facts: TargetFacts): readonly PlannedCommand[] {
  const kind = JSON.stringify(Object.values(targetOf(facts, facts.isSupervised === true)));
  const known = plans.get(kind);
  if (known !== undefined) return known;
  const plan = workOutInventory(facts);
  plans.set(kind, plan);
  return plan;
}

function workOutInventory(facts: TargetFacts): PlannedCommand[] {
  const supervised = facts.isSupervised === true;
  return INVENTORY.filter((requestType) => isAllowed(requestType, facts, supervised)).map(
    (requestType) => ({
      requestType,
      parameters: requestType === 'DeviceInformation' ? fullInformation(facts) : {},
    }),
  );
}

/** What `planInventory` left out, for a device that has just said that it is supervised. */
export function planSupervisedInventory(facts: TargetFacts): PlannedCommand[] {
  const types = INVENTORY.filter(
    (requestType) => isAllowed(requestType, facts, true) && !isAllowed(requestType, facts, false),
  );
  const Queries = queriesFor(platformNamed(facts.platform), facts.osVersion ?? undefined, {
    supervised: true,
    supervisedOnly: true,
    userEnrollment: facts.isUserEnrollment === true,
  });
  return [
    ...(Queries.length > 0 ? [{ requestType: 'DeviceInformation', parameters: { Queries } }] : []),
    ...types.map((requestType) => ({ requestType, parameters: {} })),
  ];
}

/** Parameters of the DeviceInformation that asks for all this device can tell. */
export function fullInformation(facts: TargetFacts): PlistDict {
  const { platform, osVersion, ...others } = targetOf(facts, facts.isSupervised === true);
  return { Queries: queriesFor(platform, osVersion, others) };
}
