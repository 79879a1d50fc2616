import { randomUUID } from 'node:crypto';
import { SecretBox } from '../crypto/secrets/secret-box.js';
import type { PreparedCommand } from '../db/device-path/token-update.js';
import { hasSecrets } from '../protocol/apple/command-schema.js';
import {
  buildPlist,
  isPlistDict,
  type PlistDict,
  parsePlistDict,
} from '../protocol/plist/plist.js';

function identityOf(uuid: string, part: 'payload' | 'result'): string {
  return `commands/${uuid}/${part}`;
}

/** The plist of a command as the device will get it; sealed when a parameter is a secret. */
export function buildPayload(
  box: SecretBox,
  command: { uuid: string; requestType: string; parameters: PlistDict },
): Buffer {
  const { uuid, requestType, parameters } = command;
  const plist = buildPlist({
    Command: { ...parameters, RequestType: requestType },
    CommandUUID: uuid,
  });
  return hasSecrets(parameters) ? box.seal(plist, identityOf(uuid, 'payload')) : plist;
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

/** The bytes for the wire. */
export function openPayload(box: SecretBox, command: { uuid: string; payload: Buffer }): Buffer {
  const { uuid, payload } = command;
  return SecretBox.isSealed(payload) ? box.open(payload, identityOf(uuid, 'payload')) : payload;
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

/** The report as it came, sealed when it carries a secret. */
export function sealReport(
  box: SecretBox,
  report: { commandUuid: string; raw: Buffer; holdsSecrets: boolean },
): Buffer {
  if (!report.holdsSecrets) return report.raw;
  return box.seal(report.raw, identityOf(report.commandUuid, 'result'));
}

/** The report as it came. */
export function openReport(box: SecretBox, command: { uuid: string; result: Buffer }): Buffer {
  const { uuid, result } = command;
  return SecretBox.isSealed(result) ? box.open(result, identityOf(uuid, 'result')) : result;
}
