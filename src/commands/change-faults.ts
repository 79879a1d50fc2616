import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { CommandRow } from '../db/devices/command-repository.js';
import { AppError, type ErrorCode, type ErrorDetail } from '../errors.js';
import { hasSecrets } from '../protocol/apple/command-schema.js';
import { readParameters } from './payload.js';

/** Why a command cannot be changed, cancelled or moved. */
export interface CommandFault extends ErrorDetail {
  code: ErrorCode;
}

const FINAL = ['Acknowledged', 'Error', 'CommandFormatError', 'Expired', 'Cancelled'];

export function wasSent({ sent_at }: CommandRow): boolean {
  return sent_at !== null;
}

export function sentFault({ id }: CommandRow): CommandFault {
  const detail = `command ${id} has already been sent; queue another one that undoes it`;
  return { code: 'command_already_sent', detail };
}

/** Undefined while the command is pending. */
export function finalFault({ id, status }: CommandRow): CommandFault | undefined {
  if (!FINAL.includes(status)) return undefined;
  return {
    code: 'command_final',
    detail: `command ${id} is ${status}, which is final; queue it anew`,
  };
}

/** Why the command cannot be cancelled; undefined while it is pending and was never sent. */
export function cancelFault(command: CommandRow): CommandFault | undefined {
  return wasSent(command) ? sentFault(command) : finalFault(command);
}

/** Why the command cannot move to another device; undefined when it can. */
export function moveFault(box: SecretBox, command: CommandRow): CommandFault | undefined {
  return (
    cancelFault(command) ?? userFault(command) ?? valuesFault(command) ?? secretFault(box, command)
  );
}

/** AppError with every fault; its code is that of the first one. Without faults: returns. */
export function throwFaults(
  found: (CommandFault | undefined)[],
  { status, pointer }: { status: number; pointer?: string | undefined },
): void {
  const faults = found.filter((fault) => fault !== undefined);
  const [first] = faults;
  if (first === undefined) return;
  const details = faults.map((fault) =>
    pointer === undefined ? fault : { ...fault, source: { pointer } },
  );
  const message = faults.map(({ detail }) => detail).join('; ');
  throw new AppError(first.code, status, message, { details });
}

function userFault({ id, device_id, device_user_id }: CommandRow): CommandFault | undefined {
  if (device_user_id === null) return undefined;
  const detail = `command ${id} is for a user of device ${device_id}, who is not of the other`;
  return { code: 'conflict', detail };
}

/** A profile that is rendered with the values of its device is of no use to another. */
function valuesFault({ id, device_id, payload_values }: CommandRow): CommandFault | undefined {
  if (payload_values === null) return undefined;
  const detail =
    `command ${id} installs a profile with values of device ${device_id}; ` +
    'assign the profile to the other device';
  return { code: 'conflict', detail };
}

/** Every enrollment profile that Muster makes has it, signed or not. */
const MDM_PAYLOAD = '<string>com.apple.mdm</string>';

/** A secret of one device (unlock token, password, PIN) must never be sent to another. */
function secretFault(box: SecretBox, command: CommandRow): CommandFault | undefined {
  const { payload } = command;
  if (payload === null) return undefined;
  const { Payload: profile, ...parameters } = readParameters(box, { ...command, payload });
  // The only profile made for one device is the one that renews its identity.
  const isForOneDevice = Buffer.isBuffer(profile) && profile.includes(MDM_PAYLOAD);
  if (!isForOneDevice && !hasSecrets(parameters)) return undefined;
  const { id, device_id, request_type } = command;
  const detail =
    `command ${id} (${request_type}) holds a secret of device ${device_id}; ` +
    'cancel it and queue it anew for the other device';
  return { code: 'conflict', detail };
}
