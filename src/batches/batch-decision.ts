import { eligibilityFaults, TARGET_CODES } from '../commands/eligibility.js';
import { platformNamed } from '../commands/inventory-plan.js';
import { parametersFor } from '../commands/parameter-eligibility.js';
import type { JsonObject } from '../commands/present-command.js';
import { changeToWaitFor } from '../commands/secrets/command-secrets.js';
import { needsCurrentKey } from '../commands/secrets/recovery-keys.js';
import type { BatchFacts, FactNeeds } from '../db/batches/batch-targets.js';
import { conditionFaults } from '../protocol/apple/command-conditions.js';
import { commandAllowed } from '../protocol/apple/command-schema.js';
import type { PlistDict } from '../protocol/plist/plist.js';
import type { BatchCommand } from './batch-draft.js';

/** What devices of these facts get. */
export type Decision<Parameters = PlistDict> =
  | { refusal: string; parameters?: undefined; leftOut?: undefined }
  | {
      refusal?: undefined;
      parameters: Parameters;
      /** Names of keys that these devices don't know. */
      leftOut: string[];
      isForUsers: boolean;
    };

/** Whether the command goes to users of some platform, and never to the device itself. */
function mayBeForUsers(requestType: string): boolean {
  return isForUsers(requestType, 'macOS') || isForUsers(requestType, 'iOS');
}

function isForUsers(requestType: string, platform: string | null): boolean {
  const named = platformNamed(platform);
  if (named === undefined) return false;
  const on = (channel: 'device' | 'user') =>
    commandAllowed(requestType, { platform: named, channel });
  return !on('device') && on('user');
}

/** Decides for all devices of equal facts. `parameters` are the batch's in either form. */
export function decide<Parameters extends PlistDict | JsonObject>(
  { requestType, parameters }: Pick<BatchCommand, 'requestType'> & { parameters: Parameters },
  facts: BatchFacts,
): Decision<Parameters> {
  if (facts.enrollment_state === 'unenrolled') return { refusal: 'device_unenrolled' };
  if (facts.enrollment_state !== 'enrolled') return { refusal: 'device_not_enrolled' };
  const forUsers = isForUsers(requestType, facts.platform);
  const target = { id: 0, ...facts };
  const [fault] = eligibilityFaults(target, requestType, { isForUser: forUsers });
  if (fault !== undefined) return { refusal: fault.code };
  if (forUsers && facts.has_user !== true) return { refusal: 'no_user_channel' };
  if (facts.has_secret === false) {
    return { refusal: requestType === 'ClearPasscode' ? 'no_unlock_token' : 'no_recovery_key' };
  }
  if (facts.enrolled_with === true) return { refusal: 'enrolls' };
  if (facts.lacks_values === true) return { refusal: 'variable_has_no_value' };
  const reduced = parametersFor(target, { requestType, parameters, isForUser: forUsers });
  if (reduced.fault !== undefined) return { refusal: TARGET_CODES[reduced.fault.rule] };
  if (facts.has_waiting_change === true) return { refusal: 'conflict' };
  const [first] = reduced.excluded;
  if (first !== undefined && !isComplete(requestType, reduced.value)) {
    return { refusal: TARGET_CODES[first.fault.rule] };
  }
  const leftOut = reduced.excluded.map(({ name }) => name);
  return { parameters: reduced.value, leftOut, isForUsers: forUsers };
}

/** Whether no key is left out that the command needs. */
function isComplete(requestType: string, parameters: PlistDict | JsonObject): boolean {
  return conditionFaults(requestType, parameters as PlistDict, { pointer: '' }).length === 0;
}

/** What each device's command is completed with. */
function secretOf({ requestType, parameters }: BatchCommand): FactNeeds['secret'] {
  if (requestType === 'ClearPasscode') return 'unlock_token';
  const needsKey = requestType === 'RotateFileVaultKey' && needsCurrentKey(parameters);
  return needsKey ? 'filevault_recovery_key' : undefined;
}

/** Which facts decide about the command. */
export function needsOf(command: BatchCommand): FactNeeds {
  const { requestType, parameters, template, variables } = command;
  const { Identifier: identifier } = template;
  const removes = requestType === 'RemoveProfile' && typeof identifier === 'string';
  const removedProfile = removes ? identifier : undefined;
  const waitingChange = changeToWaitFor(requestType, parameters);
  return {
    users: mayBeForUsers(requestType),
    secret: secretOf(command),
    variables,
    removedProfile,
    waitingChange,
  };
}
