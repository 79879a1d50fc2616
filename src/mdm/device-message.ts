import { AppError } from '../errors.js';
import type { Sender } from '../http/errors/device-errors.js';
import { hasSecrets, plistToJson } from '../protocol/apple/command-schema.js';
import {
  type CheckInMessage,
  type CommandReport,
  decodeMessage,
} from '../protocol/mdm/mdm-messages.js';
import type { PlistDict } from '../protocol/plist/plist.js';

/** The parts of a report that its answer needs; the rest is read later, from the stored bytes. */
export interface DeviceReport extends Pick<CommandReport, 'kind' | 'ids' | 'raw' | 'status'> {
  commandUuid: string | undefined;
  /** JSON text. */
  errorChain: string | null;
  holdsSecrets: boolean;
}

export type DeviceMessage = CheckInMessage | DeviceReport;

/** Only status reports are longer, and UnlockToken and BootstrapToken have 64 KiB at most. */
const MAX_CHECK_IN_BYTES = 256 * 1024;
/** Apple's have a few entries of some hundred characters. */
const MAX_ERROR_CHAIN_BYTES = 64 * 1024;

/**
 * Reads the body of a device's request, as decodeMessage does, into values small enough to be passed
 * between threads. AppError also payload_too_large 413 for a check-in beyond 256 KiB.
 */
export function readMessage(raw: Buffer): DeviceMessage {
  const message = decodeMessage(raw);
  if (message.kind === 'report') return toDeviceReport(message);
  if (raw.length <= MAX_CHECK_IN_BYTES) return message;
  if (message.kind === 'DeclarativeManagement') return { ...message, body: {} };
  throw new AppError('payload_too_large', 413, `${message.kind} has more than 256 KiB`);
}

/** The sender that a message names, for the log. */
export function senderIn(message: DeviceMessage): Sender {
  const { udid, enrollmentId, userKey } = message.ids;
  return {
    messageType: message.kind === 'report' ? message.status : message.kind,
    udid,
    enrollmentId: udid === undefined ? enrollmentId : undefined,
    user: userKey,
    serial: message.kind === 'Authenticate' ? message.serialNumber : undefined,
  };
}

/** A message whose sender is not identified is read for the log only up to this size. */
export const MAX_CLAIMED_BYTES = 8 * 1024;

/** The sender that an unidentified body claims, for the log; {} if it cannot be read. */
export function claimedSender(body: Buffer): Sender {
  if (body.length > MAX_CLAIMED_BYTES) return {};
  try {
    return senderIn(readMessage(body));
  } catch {
    // The request is refused for another reason.
    return {};
  }
}

function toDeviceReport(message: CommandReport): DeviceReport {
  const { kind, ids, raw, status, commandUuid, errorChain, body } = message;
  return {
    kind,
    ids,
    raw,
    status,
    commandUuid,
    errorChain: errorChain === undefined ? null : errorChainText(errorChain),
    holdsSecrets: commandUuid !== undefined && hasSecrets(body),
  };
}

/** JSON text of as many entries as fit; the stored report has all. */
function errorChainText(chain: PlistDict[]): string {
  const entries: string[] = [];
  let length = 0;
  for (const entry of chain) {
    const text = JSON.stringify(plistToJson(entry));
    length += text.length + 1;
    if (length > MAX_ERROR_CHAIN_BYTES) break;
    entries.push(text);
  }
  return `[${entries.join(',')}]`;
}
