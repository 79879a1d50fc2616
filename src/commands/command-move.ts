import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { CommandRow } from '../db/devices/command-repository.js';
import type { DeviceTarget } from '../db/devices/device-repository.js';
import { hasSecrets } from '../protocol/apple/command-schema.js';
import { type CommandFault, withdrawalFault } from './command-state.js';
import { readParameters } from './payload.js';
import { targetFault } from './target-fault.js';

/** Why a command must stay with its device; undefined when it may go. */
export function moveFault(box: SecretBox, command: CommandRow): CommandFault | undefined {
  return withdrawalFault(command) ?? userFault(command) ?? secretFault(box, command);
}

function userFault({ id, device_id, device_user_id }: CommandRow): CommandFault | undefined {
  if (device_user_id === null) return undefined;
  const detail = `command ${id} is for a user of device ${device_id}, who is not of the other`;
  return { code: 'conflict', detail };
}

/** Part of every enrollment profile as it is made here, signed or not. */
const MDM_PAYLOAD = '<string>com.apple.mdm</string>';

/** The unlock token, a password, a PIN: what is one device's must never be sent to another. */
function secretFault(box: SecretBox, command: CommandRow): CommandFault | undefined {
  const { Payload: profile, ...parameters } = readParameters(box, command);
  // A profile is no device's own, but for the one that renews a device's identity.
  const isOwn = Buffer.isBuffer(profile) && profile.includes(MDM_PAYLOAD);
  if (!isOwn && !hasSecrets(parameters)) return undefined;
  const { id, device_id, request_type } = command;
  const detail =
    `command ${id} (${request_type}) holds a secret of device ${device_id}; ` +
    'cancel it and queue it anew for the other device';
  return { code: 'conflict', detail };
}

/** Why the device can't take the command; undefined when it can. */
export function arrivalFault(
  target: DeviceTarget,
  { request_type }: CommandRow,
): CommandFault | undefined {
  return targetFault(target, request_type);
}
