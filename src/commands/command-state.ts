import type { CommandRow } from '../db/devices/command-repository.js';
import { AppError, type ErrorCode, type ErrorDetail } from '../errors.js';

const FINAL = ['Acknowledged', 'Error', 'CommandFormatError', 'Expired', 'Cancelled'];

/** Why a command can't be changed as wanted. */
export interface CommandFault extends ErrorDetail {
  code: ErrorCode;
}

export function wasSent({ sent_at }: CommandRow): boolean {
  return sent_at !== null;
}

export function sentFault({ id }: CommandRow): CommandFault {
  return { code: 'command_already_sent', detail: `command ${id} has already been sent` };
}

/** Undefined while the command waits for its end. */
export function finalFault({ id, status }: CommandRow): CommandFault | undefined {
  if (!FINAL.includes(status)) return undefined;
  return { code: 'command_final', detail: `command ${id} is ${status}, which is final` };
}

/** Undefined while the command is still its sender's: never sent, and not at its end either. */
export function withdrawalFault(command: CommandRow): CommandFault | undefined {
  return wasSent(command) ? sentFault(command) : finalFault(command);
}

/** AppError with every fault there is; the first one's code is its own. None: no error. */
export function refuse(
  found: (CommandFault | undefined)[],
  { status, pointer }: { status: number; pointer?: string },
): void {
  const faults = found.filter((fault) => fault !== undefined);
  const [first] = faults;
  if (first === undefined) return;
  const source = pointer === undefined ? {} : { source: { pointer } };
  const details = faults.map((fault) => ({ ...fault, ...source }));
  const message = faults.map(({ detail }) => detail).join('; ');
  throw new AppError(first.code, status, message, { details });
}
