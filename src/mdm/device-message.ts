import { AppError } from '../errors.js';
import { hasSecrets, plistToJson } from '../protocol/apple/command-schema.js';
import {
  type CheckInMessage,
  type CommandReport,
  decodeMessage,
} from '../protocol/mdm/mdm-messages.js';
import type { PlistDict } from '../protocol/plist/plist.js';

/** A report as far as its answer needs it; the rest is read later, from the stored bytes. */
export interface DeviceReport
  extends Pick<CommandReport, 'kind' | 'ids' | 'raw' | 'status' | 'commandUuid'> {
  /** JSON text. */
  errorChain: string | null;
  holdsSecrets: boolean;
}

export type DeviceMessage = CheckInMessage | DeviceReport;

/** Only status reports are longer, and UnlockToken and BootstrapToken have 64 KiB at most. */
const LONGEST_CHECK_IN = 256 * 1024;
/** Apple's have a few entries of some hundred characters. */
const LONGEST_ERROR_CHAIN = 64 * 1024;

/**
 * Reads the body of a device's request, as decodeMessage does, into values small enough to be passed
 * between threads. AppError also payload_too_large 413 for a check-in beyond 256 KiB.
 */
export function readMessage(raw: Buffer): DeviceMessage {
  const message = decodeMessage(raw);
  if (message.kind === 'report') return toDeviceReport(message);
  if (raw.length <= LONGEST_CHECK_IN) return message;
  if (message.kind === 'DeclarativeManagement') return { ...message, body: {} };
  throw new AppError('payload_too_large', 413, `${message.kind} has more than 256 KiB`);
}

function toDeviceReport(message: CommandReport): DeviceReport {
  const { kind, ids, raw, status, commandUuid, errorChain, body } = message;
  return {
    kind,
    ids,
    raw,
    status,
    ...(commandUuid !== undefined && { commandUuid }),
    errorChain: errorChain === undefined ? null : errorChainText(errorChain),
    holdsSecrets: commandUuid !== undefined && hasSecrets(body),
  };
}

/** As many of its entries as fit; the stored report has all. */
function errorChainText(chain: PlistDict[]): string {
  const entries: string[] = [];
  let length = 0;
  for (const entry of chain) {
    const text = JSON.stringify(plistToJson(entry));
    length += text.length + 1;
    if (length > LONGEST_ERROR_CHAIN) break;
    entries.push(text);
  }
  return `[${entries.join(',')}]`;
}
