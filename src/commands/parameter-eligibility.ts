import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { CommandRow } from '../db/devices/command-repository.js';
import type { EligibilityFacts } from '../db/devices/device-repository.js';
import {
  type ExcludedKey,
  type ReducedParameters,
  reduceParameters,
} from '../protocol/apple/command-reduction.js';
import type { CommandTarget } from '../protocol/apple/command-schema.js';
import type { PlistDict } from '../protocol/plist/plist.js';
import { type CommandFault, throwFaults } from './change-faults.js';
import {
  commandTarget,
  describeFault,
  isForceable,
  isUserEnrollment,
  TARGET_CODES,
} from './eligibility.js';
import { readParameters } from './payload.js';
import type { JsonObject } from './present-command.js';
import { needsPin, type SecretTarget } from './secrets/command-secrets.js';

const PARAMETERS = '/data/attributes/parameters';
const QUERIES = '/Queries/';

interface GivenCommand<Parameters> {
  requestType: string;
  parameters: Parameters;
  isForUser: boolean;
  /** Allows what Apple's schema excludes; has no effect on a person's own device. */
  isForced?: boolean | undefined;
}

/** The parameters without the keys, queries and settings that the device can't take. */
export function parametersFor<Parameters extends PlistDict | JsonObject>(
  target: EligibilityFacts,
  { requestType, parameters, isForUser }: GivenCommand<Parameters>,
): ReducedParameters<Parameters> {
  return reduceParameters(requestType, parameters, parameterTarget(target, isForUser));
}

/** The target of the keys of a command, whose user enrollment counts too. */
export function parameterTarget(target: EligibilityFacts, isForUser: boolean): CommandTarget {
  return {
    ...commandTarget(target),
    userEnrollment: isUserEnrollment(target),
    channel: isForUser ? 'user' : 'device',
  };
}

/** Each key, query and setting that the device can't take. A fact it has not reported excludes none. */
export function parameterFaults(
  target: EligibilityFacts,
  command: GivenCommand<PlistDict>,
): CommandFault[] {
  if (command.isForced === true && isForceable(target)) return [];
  return faultsOfKeys(target, command, parametersFor(target, command).excluded);
}

/**
 * The same for a command that is about to be sent. A device leaves queries that it does not know out of its answer:
 * they are a fault only if no other query is left.
 */
export function offeredParameterFaults(
  target: EligibilityFacts,
  command: GivenCommand<PlistDict>,
): CommandFault[] {
  const { excluded, fault } = parametersFor(target, command);
  const isAnswered = fault === undefined && command.requestType === 'DeviceInformation';
  const decisive = excluded.filter(({ pointer }) => !isAnswered || !pointer.startsWith(QUERIES));
  return faultsOfKeys(target, command, decisive);
}

function faultsOfKeys(
  target: EligibilityFacts,
  { requestType }: GivenCommand<PlistDict>,
  excluded: readonly ExcludedKey[],
): CommandFault[] {
  return excluded.map(({ name, pointer, fault }) => ({
    code: TARGET_CODES[fault.rule],
    detail: describeFault(fault, target, `${name.split('.').at(-1)} of ${requestType}`),
    source: { pointer: `${PARAMETERS}${pointer}` },
  }));
}

/** AppError 422 with every key, query and setting that the device can't take. */
export function requireEligibleParameters(
  target: EligibilityFacts,
  command: GivenCommand<PlistDict>,
): void {
  throwFaults(parameterFaults(target, command), { status: 422 });
}

/** The same of a queued command that another device shall get. A shared payload is checked when it is offered. */
export function storedParameterFaults(
  box: SecretBox,
  target: EligibilityFacts & SecretTarget,
  { uuid, payload, request_type: requestType }: CommandRow,
): CommandFault[] {
  if (payload === null) return [];
  const parameters = readParameters(box, { uuid, payload });
  const lacksPin = parameters.PIN === undefined && needsPin(target, requestType);
  return [
    ...parameterFaults(target, { requestType, parameters, isForUser: false }),
    ...(lacksPin ? [noPinFault(target, requestType)] : []),
  ];
}

/** The command was queued for a device that was not known to need a PIN. */
export function noPinFault({ id }: { id: number }, requestType: string): CommandFault {
  const detail =
    `device ${id} needs a PIN for ${requestType}, and the command has none: queue it for this device, ` +
    'and Muster makes one';
  return { code: 'conflict', detail, source: { pointer: `${PARAMETERS}/PIN` } };
}
