import { LRUCache } from 'lru-cache';
import type { EligibilityFacts } from '../db/devices/device-repository.js';
import { excludedNames } from '../protocol/apple/command-schema.js';
import type { CommandFault } from './change-faults.js';
import { type EligibilityOptions, eligibilityFaults, isForceable } from './eligibility.js';
import { noPinFault, offeredParameterFaults, parameterTarget } from './parameter-eligibility.js';
import { parametersIn } from './payload.js';
import { needsPin, type SecretTarget } from './secrets/command-secrets.js';

/** A command that is about to be sent, with the facts as the device path reads them. */
export interface CommandOffer extends Pick<EligibilityOptions, 'isForUser' | 'isForced'> {
  deviceId: number;
  requestType: string;
  /** JSON text of `OfferFacts` without `id`. */
  facts: string;
  /** The plist that is sent; read only if its command has keys that the device can't take, or needs a PIN. */
  openPlist: () => Buffer;
}

/** Why a command is not sent: for what it is, or for what it has. */
interface OfferFaults {
  ofType: CommandFault[];
  ofParameters: CommandFault[];
}

type OfferFacts = EligibilityFacts & SecretTarget;

/** What the parameters of an eligible command must not have, or must have. */
interface EligibleType {
  excluded: RegExp | undefined;
  needsPin: boolean;
}

const PIN_KEY = '<key>PIN</key>';
const NONE: OfferFaults = { ofType: [], ofParameters: [] };

/** Devices of equal facts get the same commands by the thousand. */
const ELIGIBLE_TYPES = new LRUCache<string, EligibleType>({ max: 5_000 });

/** The faults that `requireEligible` and `requireEligibleParameters` find when a command is queued. */
export function faultsOfOffer(offer: CommandOffer): OfferFaults {
  const { requestType, facts, isForUser, isForced } = offer;
  const key = `${requestType} ${isForUser} ${isForced} ${facts}`;
  const known = ELIGIBLE_TYPES.get(key);
  if (known === undefined) {
    const ofType = eligibilityFaults(targetOf(offer), requestType, { isForUser, isForced });
    if (ofType.length > 0) return { ofType, ofParameters: [] };
  }
  const type = known ?? typeOf(offer);
  if (known === undefined) ELIGIBLE_TYPES.set(key, type);
  return type.excluded === undefined && !type.needsPin ? NONE : faultsWithin(offer, type);
}

function targetOf({ deviceId, facts }: CommandOffer): OfferFacts {
  return { ...(JSON.parse(facts) as Omit<OfferFacts, 'id'>), id: deviceId };
}

function typeOf(offer: CommandOffer): EligibleType {
  const isPinNeeded = offer.isForced !== true && needsPin(targetOf(offer), offer.requestType);
  return { excluded: excludedBy(offer), needsPin: isPinNeeded };
}

/** Finds the names of what the device can't take: as keys, or as texts of the plist. */
function excludedBy(offer: CommandOffer): RegExp | undefined {
  const { requestType, isForUser = false, isForced } = offer;
  const target = targetOf(offer);
  if (isForced === true && isForceable(target)) return undefined;
  const names = excludedNames(requestType, parameterTarget(target, isForUser));
  return names.length === 0 ? undefined : new RegExp(`>(?:${names.map(escaped).join('|')})<`);
}

function escaped(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_]/g, '\\$&');
}

/** Most plists have none of the names, and are not parsed. */
function faultsWithin(offer: CommandOffer, type: EligibleType): OfferFaults {
  const plist = offer.openPlist();
  const text = plist.toString('latin1');
  const { requestType, isForUser = false } = offer;
  if (type.needsPin && !text.includes(PIN_KEY)) {
    return { ofType: [], ofParameters: [noPinFault(targetOf(offer), requestType)] };
  }
  if (type.excluded?.test(text) !== true) return NONE;
  const command = { requestType, parameters: parametersIn(plist), isForUser };
  return { ofType: [], ofParameters: offeredParameterFaults(targetOf(offer), command) };
}
