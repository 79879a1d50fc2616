import type { PlistDict } from '../plist/plist-value.js';
import { compareVersions } from './command-target.js';
import profiles from './profiles.json';
import { checkKeys, type SchemaFault, type SchemaRule } from './schema-check.js';
import type { Platform, SchemaKey, SchemaOs, SchemaSystems } from './schema-types.js';

interface PayloadItem {
  payloadType: string;
  os?: SchemaSystems;
  keys?: SchemaKey[];
}

const items = profiles.items as unknown as PayloadItem[];
const byType = new Map<string, PayloadItem[]>();
for (const item of items) {
  byType.set(item.payloadType, [...(byType.get(item.payloadType) ?? []), item]);
}
const NO_PAYLOADS = ['CommonPayloadKeys', 'TopLevel'];

// The schema allows only PayloadVersion 1, but old payloads have other numbers.
const common = keysOf('CommonPayloadKeys').map(({ rangelist: _list, ...key }) => key);
// A dictionary of texts by language, which the schema writes as one of an array is written.
const CONSENT: SchemaKey = {
  key: 'ConsentText',
  type: 'dictionary',
  subkeys: [{ key: 'ANY', type: 'string' }],
};
/** The keys around the payloads, and `PayloadContent`. */
export const topLevelKeys = [
  CONSENT,
  ...keysOf('TopLevel').filter(({ key }) => key !== CONSENT.key),
];

/**
 * Required by the schema, and yet missing in many profiles that devices accept: they set the other
 * keys of the payload only.
 */
const LAX = new Set(['com.apple.screensaver/moduleName', 'com.apple.screensaver.user/moduleName']);

/** What makes a payload wrong on any system; flags have been written both ways over the years. */
const GRAVE: SchemaRule[] = ['type', 'value', 'range'];

/** One fault of a payload by Apple's schema, with a JSON pointer into it. */
export interface PayloadFinding {
  pointer: string;
  detail: string;
  /** False for a warning: devices may accept it. */
  isError: boolean;
}

/** Whether Apple's schema has payloads of this type. */
export function isKnownPayloadType(type: string): boolean {
  return byType.has(type) && !NO_PAYLOADS.includes(type);
}

/** The keys of every kind of payload with this type; none for an unknown type. */
export function payloadKinds(type: string): SchemaKey[][] {
  if (!isKnownPayloadType(type)) return [];
  return (byType.get(type) ?? []).map(({ keys = [] }) => [...keys, ...common]);
}

/** What one platform has to have for a profile. */
export interface PlatformNeeds {
  /** The first version of the system that has any of the payloads; absent: every version. */
  from?: string;
  /** A payload is only for supervised devices. */
  is_supervised: boolean;
  /** A payload is only for enrollments that a user of the Mac approved, or automated ones; absent: none. */
  is_user_approved?: true;
}

const PLATFORMS: Platform[] = ['iOS', 'macOS', 'tvOS', 'visionOS', 'watchOS'];

/**
 * The platforms that some payload of these types is for, by Apple's schema; null: any device may take
 * them, since there is none, or one that the schema does not know.
 */
export function platformsOf(types: readonly string[]): Record<string, PlatformNeeds> | null {
  if (types.length === 0 || types.some((type) => !isKnownPayloadType(type))) return null;
  if (types.some((type) => kindsOf(type).some(({ os }) => os === undefined))) return null;
  const needs = PLATFORMS.map((platform) => [platform, needsOf(types, platform)] as const);
  return Object.fromEntries(needs.flatMap(([platform, need]) => (need ? [[platform, need]] : [])));
}

function needsOf(types: readonly string[], platform: Platform): PlatformNeeds | undefined {
  const ofTypes = types
    .map((type) => kindsOf(type).flatMap(({ os }) => os?.[platform] ?? []))
    .map((systems) => systems.filter(({ introduced }) => introduced !== 'n/a'))
    .filter((systems) => systems.length > 0);
  if (ofTypes.length === 0) return undefined;
  const first = ofTypes.flat().map(({ introduced }) => introduced);
  const from = first.includes(undefined)
    ? undefined
    : (first as string[]).toSorted(compareVersions)[0];
  const hasAny = (isNeeded: (os: SchemaOs) => boolean) =>
    ofTypes.some((systems) => systems.every(isNeeded));
  const needs: PlatformNeeds = { is_supervised: hasAny(({ supervised }) => supervised === true) };
  if (from !== undefined) needs.from = from;
  if (hasAny(({ userapprovedmdm }) => userapprovedmdm === true)) needs.is_user_approved = true;
  return needs;
}

function kindsOf(type: string): PayloadItem[] {
  return byType.get(type) ?? [];
}

/**
 * Checks a payload against Apple's schema; nothing is found for an unknown type. Errors are wrong
 * types and values, and required keys missing from the payload itself: what is required further
 * down often depends on the system's version or on other keys. Where several kinds of payload share
 * a type, the one that fits best counts.
 */
export function checkPayload(type: string, payload: PlistDict): PayloadFinding[] {
  const kinds = payloadKinds(type).map((keys) =>
    checkKeys(keys, payload, '').map((fault) => findingOf(fault, type)),
  );
  const [best = []] = kinds.toSorted((one, other) => errorsIn(one) - errorsIn(other));
  // A key that any of the kinds has is not an unknown key.
  const places = kinds.map((findings) => new Set(findings.map(({ pointer }) => pointer)));
  return best.filter(({ pointer }) => places.every((place) => place.has(pointer)));
}

/** Checks the keys around the payloads; the caller checks `PayloadContent`. */
export function checkProfileKeys(profile: PlistDict): PayloadFinding[] {
  return checkKeys(topLevelKeys, { ...profile, PayloadContent: [] }, '').map((fault) =>
    findingOf(fault, 'TopLevel'),
  );
}

function findingOf({ rule, detail, source }: SchemaFault, type: string): PayloadFinding {
  const { pointer } = source;
  const isOwnKey = pointer.lastIndexOf('/') === 0;
  const isMissing = rule === 'required' && isOwnKey && !LAX.has(type + pointer);
  return { pointer, detail, isError: GRAVE.includes(rule) || isMissing };
}

function errorsIn(findings: PayloadFinding[]): number {
  return findings.filter(({ isError }) => isError).length;
}

function keysOf(type: string): SchemaKey[] {
  return byType.get(type)?.[0]?.keys ?? [];
}
