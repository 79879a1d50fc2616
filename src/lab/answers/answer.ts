import type { PlistDict, PlistInput } from '../../protocol/plist/plist.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';

export interface DeviceError {
  domain: string;
  code: number;
  message: string;
}

/** A device's answer to a command; members of `body` are sent beside Status in the report. */
export type Answer =
  | { status: 'Acknowledged'; body: Record<string, PlistInput | undefined> }
  | { status: 'Error'; errors: DeviceError[] }
  | { status: 'CommandFormatError' };

export type CommandHandler = (device: SimulatedDevice, command: PlistDict) => Answer;

export function acknowledged(body: Record<string, PlistInput | undefined> = {}): Answer {
  return { status: 'Acknowledged', body };
}

export function failed(code: number, message: string, domain = 'MCMDMErrorDomain'): Answer {
  return { status: 'Error', errors: [{ domain, code, message }] };
}

export function describeErrors(errors: DeviceError[]): PlistInput[] {
  return errors.map(({ domain, code, message }) => ({
    ErrorCode: code,
    ErrorDomain: domain,
    LocalizedDescription: message,
    USEnglishDescription: message,
  }));
}
