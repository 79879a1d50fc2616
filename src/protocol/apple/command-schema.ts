import { type ErrorDetail, knownNames } from '../../errors.js';
import { newDict, type PlistDict } from '../plist/plist-value.js';
import { commandItem, requestTypes } from './command-target.js';
import { checkKeys, fault } from './schema-check.js';
import { convertDict } from './schema-convert.js';

export {
  type CommandDescription,
  describeCommand,
  type KeyDescription,
} from './command-description.js';
export {
  allowsKey,
  type CommandTarget,
  commandAllowed,
  hasVersion,
  queriesFor,
  requestTypes,
  type TargetFault,
  targetFaults,
  undecidedBy,
} from './command-target.js';
export { excludedNames } from './excluded-names.js';
export { hasSecrets, type JsonValue, maskSecrets, plistToJson, secretNames } from './plist-json.js';
export type { Platform } from './schema-types.js';

const ATTRIBUTES = '/data/attributes';
const PARAMETERS = `${ATTRIBUTES}/parameters`;
/** Ten times the values of a command with a thousand identifiers. */
const MAX_VALUES = 20_000;

/**
 * Checks a command's parameters, as plist values, against Apple's schema. Returns every fault with
 * its JSON pointer below `/data/attributes`; none means the command can be sent.
 */
export function validateCommand(requestType: string, parameters: PlistDict): ErrorDetail[] {
  const item = commandItem(requestType);
  if (item === undefined) return [unknownType(requestType)];
  return checkKeys(item.keys ?? [], parameters, PARAMETERS);
}

/**
 * Turns the JSON parameters of a command (data as base64, dates as ISO 8601) into plist values and
 * checks them with validateCommand. `value` is complete only when there are no faults.
 */
export function jsonToPlist(
  requestType: string,
  json: unknown,
): { value: PlistDict; faults: ErrorDetail[] } {
  const item = commandItem(requestType);
  if (item === undefined) return { value: newDict(), faults: [unknownType(requestType)] };
  const given = json ?? {};
  if (!hasAtMost(MAX_VALUES, given)) {
    const detail = `parameters hold more than ${MAX_VALUES} values`;
    return { value: newDict(), faults: [fault(PARAMETERS, detail)] };
  }
  if (typeof given !== 'object' || Array.isArray(given)) {
    return { value: newDict(), faults: [fault(PARAMETERS, 'parameters must be an object')] };
  }
  const faults: ErrorDetail[] = [];
  const value = convertDict(item.keys ?? [], given, { pointer: PARAMETERS, faults });
  // Members that could not be converted are left out; do not report them as missing, too.
  const reported = new Set(faults.map(({ source }) => source?.pointer));
  const rest = validateCommand(requestType, value).filter(
    ({ source }) => !reported.has(source?.pointer),
  );
  return { value, faults: [...faults, ...rest] };
}

function unknownType(requestType: string): ErrorDetail {
  const shown = requestType.slice(0, 80);
  const known = knownNames(shown, requestTypes(), 'GET /api/v1/command_types lists all');
  return fault(
    `${ATTRIBUTES}/request_type`,
    `'${shown}' is not a request type of Apple's; ${known}`,
  );
}

/** Whether a JSON value has at most this many values. */
function hasAtMost(most: number, json: unknown): boolean {
  const waiting: unknown[] = [json];
  for (let count = 1; count <= most; count += 1) {
    const next = waiting.pop();
    if (typeof next === 'object' && next !== null) {
      // Not spread: an array of a million would overflow the stack.
      for (const member of Object.values(next)) waiting.push(member);
    }
    if (waiting.length === 0) return true;
  }
  return false;
}
