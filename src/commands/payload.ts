import { randomUUID } from 'node:crypto';
import { SecretBox } from '../crypto/secrets/secret-box.js';
import type { PreparedCommand } from '../db/device-path/token-update.js';
import { type ErrorDetail, validationError } from '../errors.js';
import { hasSecrets, jsonToPlist } from '../protocol/apple/command-schema.js';
import {
  buildPlist,
  isPlistDict,
  type PlistDict,
  parsePlistDict,
} from '../protocol/plist/plist.js';

/** The plist of a command as it is sent; sealed when a parameter is a secret. */
export function buildPayload(
  box: SecretBox,
  command: { uuid: string; requestType: string; parameters: PlistDict },
): Buffer {
  const { uuid, requestType, parameters } = command;
  const plist = buildPlist({
    Command: { ...parameters, RequestType: requestType },
    CommandUUID: uuid,
  });
  return hasSecrets(parameters) ? box.seal(plist, labelOf(uuid, 'payload')) : plist;
}

/** A command under a new CommandUUID, ready for the queue. */
export function prepareCommand(
  box: SecretBox,
  requestType: string,
  parameters: PlistDict,
): PreparedCommand {
  const uuid = randomUUID();
  return { uuid, requestType, payload: buildPayload(box, { uuid, requestType, parameters }) };
}

/** The plist that is sent to the device. */
export function openPayload(box: SecretBox, command: { uuid: string; payload: Buffer }): Buffer {
  const { uuid, payload } = command;
  return SecretBox.isSealed(payload) ? box.open(payload, labelOf(uuid, 'payload')) : payload;
}

/** The Command dictionary of a stored payload, less RequestType. */
export function readParameters(
  box: SecretBox,
  command: { uuid: string; payload: Buffer },
): PlistDict {
  const { Command } = parsePlistDict(openPayload(box, command));
  if (!isPlistDict(Command)) return {};
  const { RequestType: _, ...parameters } = Command;
  return parameters;
}

/** The bytes of a report for the database, sealed when it holds a secret. */
export function sealReport(
  box: SecretBox,
  report: { commandUuid: string; raw: Buffer; holdsSecrets: boolean },
): Buffer {
  if (!report.holdsSecrets) return report.raw;
  return box.seal(report.raw, labelOf(report.commandUuid, 'result'));
}

/** The bytes of a stored report, as the device sent them. */
export function openReport(box: SecretBox, command: { uuid: string; result: Buffer }): Buffer {
  const { uuid, result } = command;
  return SecretBox.isSealed(result) ? box.open(result, labelOf(uuid, 'result')) : result;
}

/**
 * Parameters of the API (data as base64, dates as ISO 8601) as plist values. AppError 422 with every
 * fault.
 */
export function readJsonParameters(requestType: string, parameters: unknown): PlistDict {
  const { value, faults } = checkJsonParameters(requestType, parameters);
  if (faults.length > 0) throw validationError(faults);
  return value;
}

/** As readJsonParameters, with the faults as a list; `value` is valid only if that is empty. */
export function checkJsonParameters(
  requestType: string,
  parameters: unknown,
): { value: PlistDict; faults: ErrorDetail[] } {
  const { value, faults } = jsonToPlist(requestType, parameters);
  return { value, faults: requestType === 'ClearPasscode' ? faults.map(withTokenHint) : faults };
}

function withTokenHint(fault: ErrorDetail): ErrorDetail {
  if (fault.source?.pointer !== '/data/attributes/parameters/UnlockToken') return fault;
  const hint = '/devices/{id}/clear_passcode uses the one that the device has escrowed';
  return { ...fault, detail: `${fault.detail}; ${hint}` };
}

/** What a sealed part of a command is bound to. */
function labelOf(uuid: string, part: 'payload' | 'result'): string {
  return `commands/${uuid}/${part}`;
}
