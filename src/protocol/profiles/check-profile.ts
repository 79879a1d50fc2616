import {
  checkPayload,
  checkProfileKeys,
  isKnownPayloadType,
  type PayloadFinding,
} from '../apple/profile-schema.js';
import { nodeToValue, type PlistNode, type PlistNodeDict } from '../plist/plist.js';
import { Findings } from './findings.js';

/** Longer ones do not fit into the index. */
const MAX_NAME_LENGTH = 500;
const MAX_TEXT_LENGTH = 10_000;
const MAX_PAYLOADS = 1_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const TEXTS = ['PayloadDisplayName', 'PayloadDescription', 'PayloadOrganization'];

/**
 * Checks a profile: faults of its structure are errors; each payload is checked by Apple's schema, and
 * what the schema does not know is a warning.
 */
export function checkProfile(profile: PlistNodeDict): Findings {
  const findings = new Findings();
  checkTopLevel(profile, findings);
  const content = profile.get('PayloadContent');
  if (!Array.isArray(content)) {
    findings.error('/PayloadContent', 'PayloadContent must be an array of payloads');
  } else if (content.length > MAX_PAYLOADS) {
    findings.error('/PayloadContent', `a profile has at most ${MAX_PAYLOADS} payloads`);
  } else checkPayloads(content, findings);
  return findings;
}

function checkTopLevel(profile: PlistNodeDict, findings: Findings): void {
  if (profile.get('PayloadType') !== 'Configuration') {
    findings.error('/PayloadType', 'PayloadType must be Configuration');
  }
  if (profile.get('PayloadVersion') !== 1n) {
    findings.error('/PayloadVersion', 'PayloadVersion must be the integer 1');
  }
  checkNames(profile, '', { findings, names: ['PayloadIdentifier', 'PayloadUUID'] });
  checkDuration(profile, findings);
  addFindings(checkProfileKeys(nodeToValue(profile)), '', findings);
}

/** NaN and infinity fit neither the column nor JSON. */
function checkDuration(profile: PlistNodeDict, findings: Findings): void {
  const duration = profile.get('DurationUntilRemoval');
  if (typeof duration === 'number' && !Number.isFinite(duration)) {
    findings.error('/DurationUntilRemoval', 'DurationUntilRemoval must be finite');
  }
}

function checkPayloads(payloads: PlistNode[], findings: Findings): void {
  for (const [index, payload] of payloads.entries()) {
    const pointer = `/PayloadContent/${index}`;
    if (payload instanceof Map) checkOnePayload(payload, pointer, findings);
    else findings.error(pointer, 'a payload must be a dictionary');
  }
  for (const name of ['PayloadUUID', 'PayloadIdentifier']) checkUnique(payloads, name, findings);
}

function checkOnePayload(payload: PlistNodeDict, pointer: string, findings: Findings): void {
  const names = ['PayloadType', 'PayloadIdentifier', 'PayloadUUID'];
  checkNames(payload, pointer, { findings, names });
  const version = payload.get('PayloadVersion');
  if (typeof version !== 'bigint' || BigInt.asIntN(32, version) !== version) {
    findings.error(`${pointer}/PayloadVersion`, 'PayloadVersion must be an integer of 32 bits');
  }
  const type = payload.get('PayloadType');
  if (typeof type !== 'string') return;
  if (!isKnownPayloadType(type)) {
    const detail = `${type.slice(0, 80)} is not a payload type Apple's schema lists`;
    findings.warning(`${pointer}/PayloadType`, detail);
  }
  addFindings(checkPayload(type, nodeToValue(payload)), pointer, findings);
}

interface NameCheck {
  findings: Findings;
  names: string[];
}

function checkNames(dict: PlistNodeDict, pointer: string, { findings, names }: NameCheck): void {
  for (const name of names) {
    const value = dict.get(name);
    const at = `${pointer}/${name}`;
    if (typeof value !== 'string' || value.trim() === '') {
      findings.error(at, `${name} must be a string that is not empty`);
    } else if (value.length > MAX_NAME_LENGTH) {
      findings.error(at, `${name} must have at most ${MAX_NAME_LENGTH} characters`);
    } else if (name === 'PayloadUUID' && !UUID.test(value)) {
      findings.warning(at, 'PayloadUUID is no UUID');
    }
  }
  for (const name of TEXTS) checkText(dict.get(name), { at: `${pointer}/${name}`, name, findings });
}

function checkText(
  value: PlistNode | undefined,
  { at, name, findings }: { at: string; name: string; findings: Findings },
): void {
  if (value === undefined) return;
  if (typeof value !== 'string') findings.error(at, `${name} must be a string`);
  else if (value.length > MAX_TEXT_LENGTH) {
    findings.error(at, `${name} must have at most ${MAX_TEXT_LENGTH} characters`);
  }
}

/** Identifiers are compared without regard to case. */
function checkUnique(payloads: PlistNode[], name: string, findings: Findings): void {
  const seen = new Map<string, number>();
  for (const [index, payload] of payloads.entries()) {
    const value = payload instanceof Map ? payload.get(name) : undefined;
    if (typeof value !== 'string' || value === '') continue;
    const first = seen.get(value.toLowerCase());
    if (first === undefined) seen.set(value.toLowerCase(), index);
    else {
      const detail = `payload ${first} has the same ${name}`;
      findings.error(`/PayloadContent/${index}/${name}`, detail);
    }
  }
}

function addFindings(found: PayloadFinding[], pointer: string, findings: Findings): void {
  for (const { isError, detail, pointer: below } of found) {
    if (isError) findings.error(pointer + below, detail);
    else findings.warning(pointer + below, detail);
  }
}
