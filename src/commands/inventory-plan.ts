import { commandAllowed, queriesFor } from '../protocol/apple/command-schema.js';
import type { PlistDict } from '../protocol/plist.js';

/** What is known of a device; null where it has not said. An unknown fact is no misfit. */
export interface TargetFacts {
  platform: string | null;
  osVersion: string | null;
  isSupervised: boolean | null;
}

/** DeviceInformation goes first: its answer tells what else the device can be asked. */
const INVENTORY = [
  'DeviceInformation',
  'InstalledApplicationList',
  'CertificateList',
  'SecurityInfo',
  'ProfileList',
  'AvailableOSUpdates',
];

export interface PlannedCommand {
  requestType: string;
  parameters: PlistDict;
}

/**
 * The queries of a full inventory that this device can take. One that only a supervised device
 * answers is left out until the device has said that it is supervised.
 */
export function planInventory(facts: TargetFacts, requestTypes = INVENTORY): PlannedCommand[] {
  const target = schemaTarget(facts);
  return requestTypes
    .filter((requestType) => commandAllowed(requestType, target))
    .map((requestType) => ({ requestType, parameters: parametersOf(requestType, facts) }));
}

function schemaTarget(facts: TargetFacts) {
  return {
    ...(facts.platform === null ? {} : { platform: facts.platform }),
    ...(facts.osVersion === null ? {} : { osVersion: facts.osVersion }),
    supervised: facts.isSupervised === true,
  };
}

/** The DeviceInformation that asks for everything this device can tell. */
export function parametersOf(requestType: string, facts: TargetFacts): PlistDict {
  if (requestType !== 'DeviceInformation') return {};
  const { platform, ...rest } = schemaTarget(facts);
  return { Queries: queriesFor(platform, rest.osVersion, { supervised: rest.supervised }) };
}
