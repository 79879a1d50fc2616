import type { SecretBox } from '../crypto/secret-box.js';
import type { CommandRow } from '../db/command-repository.js';
import type { DeviceTarget } from '../db/device-repository.js';
import { hasSecrets } from '../protocol/apple/command-schema.js';
import { type CommandFault, withdrawalFault } from './command-state.js';
import { readParameters } from './payload.js';
import { platformFault } from './platform-fault.js';

/** Why a command must stay with its device; undefined when it may go. */
export function moveFault(box: SecretBox, command: CommandRow): CommandFault | undefined {
  return withdrawalFault(command) ?? secretFault(box, command);
}

/** The unlock token, a password, a PIN: what is one device's must never be sent to another. */
function secretFault(box: SecretBox, command: CommandRow): CommandFault | undefined {
  // A profile is no device's own.
  const { Payload: _profile, ...parameters } = readParameters(box, command);
  if (!hasSecrets(parameters)) return undefined;
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
  const detail = platformFault(target, request_type);
  return detail === undefined ? undefined : { code: 'unsupported_on_platform', detail };
}
