import { pointerTo } from '../apple/schema-types.js';
import type { PlistNode, PlistNodeDict } from '../plist/plist.js';

/** What a device has values for. */
export const DEVICE_VARIABLES = [
  'SERIAL',
  'UDID',
  'DEVICE_NAME',
  'ASSET_TAG',
  'USER_NAME',
  'USER_EMAIL',
] as const;

const KNOWN = new Set<string>(DEVICE_VARIABLES);
const SECRET = 'SECRET_';
const ATTRIBUTE = /^ATTRIBUTE_\w/;
/** `$$`, `${NAME}` or `$NAME`. Any other dollar is one. */
const REFERENCE = /\$(?:\$|\{(\w+)\}|([A-Za-z_]\w*))/g;
/** What a profile and its payloads are known by must be the same on all devices. */
const IDENTITY = new Set(['PayloadType', 'PayloadIdentifier', 'PayloadUUID']);

/** The references in one string of a profile. */
export interface StringVariables {
  /** JSON pointer into the profile. */
  pointer: string;
  known: string[];
  unknown: string[];
  hasDollar: boolean;
  /** It names a payload or the profile, so it stays literal. */
  isIdentity: boolean;
}

/** The strings of a profile that have references, in their order. Keys and data have none. */
export function findVariables(profile: PlistNodeDict): StringVariables[] {
  const found: StringVariables[] = [];
  visit(profile, (text, pointer, isIdentity) => {
    if (!text.includes('$')) return;
    const names = variablesIn(text);
    const known = names.filter(isKnownVariable);
    const unknown = names.filter((name) => !isKnownVariable(name));
    const hasDollar = text.includes('$$');
    if (names.length === 0 && !hasDollar) return;
    found.push({ pointer, known, unknown, hasDollar, isIdentity });
  });
  return found;
}

/** The secret that a variable stands for; undefined for the others. */
export function secretOf(variable: string): string | undefined {
  const name = variable.slice(SECRET.length);
  return variable.startsWith(SECRET) && name !== '' ? name : undefined;
}

/** A copy of the profile with the values in the place of their variables, under another PayloadUUID. */
export function renderProfile(
  profile: PlistNodeDict,
  { uuid, values }: { uuid: string; values: ReadonlyMap<string, string> },
): PlistNodeDict {
  const payloads = profile.get('PayloadContent');
  const rendered = renderNamed(profile, values);
  if (Array.isArray(payloads)) {
    const renderOne = (one: PlistNode) =>
      one instanceof Map ? renderNamed(one, values) : render(one, values);
    rendered.set('PayloadContent', payloads.map(renderOne));
  }
  // The keys exist already, so that they keep their places.
  return rendered.set('PayloadUUID', uuid);
}

/** Whether devices may have a value for the variable. */
export function isKnownVariable(name: string): boolean {
  return KNOWN.has(name) || ATTRIBUTE.test(name) || secretOf(name) !== undefined;
}

/** The names that a text refers to, each once. */
export function variablesIn(text: string): string[] {
  const names = [...text.matchAll(REFERENCE)].map(([, braced, bare]) => braced ?? bare);
  return [...new Set(names.filter((name) => name !== undefined))];
}

type Visitor = (text: string, pointer: string, isIdentity: boolean) => void;

function visit(profile: PlistNodeDict, visitor: Visitor): void {
  const below = (node: PlistNode, at: string, isIdentity: boolean): void => {
    if (typeof node === 'string') visitor(node, at, isIdentity);
    else if (Array.isArray(node)) {
      for (const [index, element] of node.entries()) below(element, pointerTo(at, index), false);
    } else if (node instanceof Map) {
      for (const [key, member] of node) below(member, pointerTo(at, key), isNamedAt(at, key));
    }
  };
  below(profile, '', false);
}

/** Whether the key identifies the profile or one of its payloads; deeper keys may have the same names. */
function isNamedAt(dict: string, key: string): boolean {
  return IDENTITY.has(key) && (dict === '' || /^\/PayloadContent\/\d+$/.test(dict));
}

/** A profile or a payload, whose names stay. */
function renderNamed(dict: PlistNodeDict, values: ReadonlyMap<string, string>): PlistNodeDict {
  const members = [...dict].map(([key, member]): [string, PlistNode] => [
    key,
    IDENTITY.has(key) ? member : render(member, values),
  ]);
  return new Map(members);
}

function render(node: PlistNode, values: ReadonlyMap<string, string>): PlistNode {
  if (typeof node === 'string') return renderText(node, values);
  if (Array.isArray(node)) return node.map((one) => render(one, values));
  if (!(node instanceof Map)) return node;
  return new Map([...node].map(([key, member]) => [key, render(member, values)]));
}

/** What has no value, as an unknown name, stays as it is. */
export function renderText(text: string, values: ReadonlyMap<string, string>): string {
  if (!text.includes('$')) return text;
  return text.replace(REFERENCE, (reference, braced?: string, bare?: string) => {
    if (reference === '$$') return '$';
    return values.get(braced ?? bare ?? '') ?? reference;
  });
}
