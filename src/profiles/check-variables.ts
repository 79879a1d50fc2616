import type { Finding } from '../errors.js';
import type { PlistNodeDict } from '../protocol/plist/plist.js';
import type { Findings } from '../protocol/profiles/findings.js';
import {
  DEVICE_VARIABLES,
  findVariables,
  type StringVariables,
  secretOf,
} from '../protocol/profiles/profile-variables.js';

/** What a version has to do with variables. */
export interface CheckedVariables {
  /** By their names, without dollars. */
  names: string[];
  /** Its strings are rendered for each device; false while none has a variable or `$$`. */
  isRendered: boolean;
  /** The first place of each secret. */
  secrets: { name: string; pointer: string }[];
}

const LITERAL: CheckedVariables = { names: [], isRendered: false, secrets: [] };

/** Finds the variables of a profile, and warns of what stays literal. */
export function checkVariables(
  profile: PlistNodeDict,
  { isSigned, findings }: { isSigned: boolean; findings: Findings },
): CheckedVariables {
  const strings = findVariables(profile);
  for (const string of strings) {
    const detail = warningOf(string, isSigned);
    if (detail !== undefined) findings.alsoWarning(string.pointer, detail);
  }
  return isSigned ? LITERAL : variablesOf(strings.filter(({ isIdentity }) => !isIdentity));
}

/** Secrets that a profile names and that do not exist yet. */
export function missingSecrets(
  { secrets }: CheckedVariables,
  present: ReadonlySet<string>,
): Finding[] {
  const missing = secrets.filter(({ name }) => !present.has(name));
  return missing.map(({ name, pointer }) => {
    const detail = `there is no profile secret ${name}: devices wait until it is added at /profile_secrets`;
    return { pointer, detail };
  });
}

function variablesOf(strings: StringVariables[]): CheckedVariables {
  const names = [...new Set(strings.flatMap(({ known }) => known))].sort();
  const secrets = names.flatMap((variable) => {
    const name = secretOf(variable);
    const place = strings.find(({ known }) => known.includes(variable));
    return name === undefined || place === undefined ? [] : [{ name, pointer: place.pointer }];
  });
  const isRendered = names.length > 0 || strings.some(({ hasDollar }) => hasDollar);
  return { names, isRendered, secrets };
}

function warningOf(
  { known, unknown, isIdentity }: StringVariables,
  isSigned: boolean,
): string | undefined {
  if (known.length > 0 && isSigned) {
    return `${shown(known)} stays as it is: a signed profile is sent byte for byte; upload it unsigned`;
  }
  if (known.length > 0 && isIdentity) {
    return `${shown(known)} stays as it is: devices know the profile and its payloads by this name`;
  }
  if (unknown.length === 0 || isSigned) return undefined;
  return `${shown(unknown)} is no variable and stays as it is; known are ${KNOWN}`;
}

const KNOWN = `${shown([...DEVICE_VARIABLES])}, $ATTRIBUTE_name, $SECRET_name and $$ for a dollar`;

function shown(names: readonly string[]): string {
  return names.map((name) => `$${name.slice(0, 80)}`).join(', ');
}
