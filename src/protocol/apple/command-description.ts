import { type Condition, conditionsOf, conditionText } from './command-conditions.js';
import { commandItem, hasChannel, inherited } from './command-target.js';
import { isSecretName } from './plist-json.js';
import type { Platform, SchemaKey, SchemaSystems } from './schema-types.js';

const PLATFORMS: readonly Platform[] = ['iOS', 'macOS', 'tvOS', 'visionOS', 'watchOS'];

/** What one platform says of a command, a key or a value. */
export interface PlatformRules {
  platform: Platform;
  introduced: string | null;
  deprecated: string | null;
  removed: string | null;
  supervised: boolean;
  automated_enrollment: boolean;
  /** Apple's mode: `allowed`, `forbidden`, `ignored`, `required`. */
  user_enrollment: string | null;
  shared_ipad: string | null;
  channels: ('device' | 'user')[];
  /** Apple's name of the right that the enrollment profile must grant. */
  access_right: string | null;
}

/** What holds for some keys of one dictionary. */
export interface ConditionDescription {
  kind: Condition['kind'];
  keys: readonly string[];
  text: string;
}

/** A key of a command or of an answer. A member without a value is absent. */
export interface KeyDescription {
  name: string;
  type: SchemaKey['type'];
  presence: 'required' | 'optional';
  default?: unknown;
  values?: unknown[] | undefined;
  min?: number | undefined;
  max?: number | undefined;
  min_items?: number | undefined;
  max_items?: number | undefined;
  /** A regular expression that the whole string has to match. */
  format?: string | undefined;
  is_secret?: true | undefined;
  /** Only where they differ from those of what the key is in; otherwise whole. */
  platforms?: PlatformRules[] | undefined;
  /** Keys of a dictionary. */
  keys?: KeyDescription[] | undefined;
  /** What joins the keys of a dictionary, or of the dictionaries in an array. */
  conditions?: ConditionDescription[] | undefined;
  /** Elements of an array: one, or one for each kind of element, named by its `Item`. */
  items?: KeyDescription[] | undefined;
  /** Values that a string may have, with their platforms. */
  choices?: { value: string; platforms?: PlatformRules[] | undefined }[] | undefined;
}

export interface CommandDescription {
  title: string;
  platforms: PlatformRules[];
  keys: KeyDescription[];
  /** What joins these keys. */
  conditions: ConditionDescription[];
  response: KeyDescription[];
}

/** What Apple's schema says of a command, its parts on first use; undefined for an unknown type. */
export function describeCommand(requestType: string): CommandDescription | undefined {
  const item = commandItem(requestType);
  if (item === undefined) return undefined;
  const levels = [item.os];
  return {
    title: (item.label ?? requestType).replace(/ Command$/, ''),
    platforms: platformRules(levels),
    get keys() {
      return describeKeys(item.keys, levels).map((key) => {
        const conditions = describeConditions(requestType, key.name);
        return conditions.length === 0 ? key : { ...key, conditions };
      });
    },
    conditions: describeConditions(requestType),
    get response() {
      return describeKeys(item.response, levels);
    },
  };
}

function describeConditions(requestType: string, within?: string): ConditionDescription[] {
  return conditionsOf(requestType, within).map((condition) => {
    const { kind, keys } = condition;
    return { kind, keys, text: conditionText(condition) };
  });
}

type Levels = (SchemaSystems | undefined)[];

function platformRules(levels: Levels): PlatformRules[] {
  return PLATFORMS.flatMap((platform) => {
    const os = inherited(platform, levels);
    if (os === undefined || os.introduced === 'n/a') return [];
    const channels = (['device', 'user'] as const).filter((channel) =>
      hasChannel(os, channel, platform),
    );
    return [
      {
        platform,
        introduced: os.introduced ?? null,
        deprecated: os.deprecated ?? null,
        removed: os.removed ?? null,
        supervised: os.supervised === true,
        automated_enrollment: os.requiresdep === true,
        user_enrollment: os.userenrollment?.mode ?? null,
        shared_ipad: os.sharedipad?.mode ?? null,
        channels,
        access_right: rightOf(os.accessrights),
      },
    ];
  });
}

function rightOf(name: string | undefined): string | null {
  return name === undefined || name === 'None' || name === 'n/a' ? null : name;
}

function describeKeys(keys: SchemaKey[] = [], levels: Levels): KeyDescription[] {
  return keys.map((key) => describeKey(key, levels));
}

function describeKey(key: SchemaKey, above: Levels): KeyDescription {
  const levels = [...above, key.os];
  const { type, range, repetition, subkeys } = key;
  return {
    name: key.key,
    type,
    presence: key.presence ?? 'optional',
    default: key.default,
    values: key.rangelist,
    min: range?.min,
    max: range?.max,
    min_items: repetition?.min,
    max_items: repetition?.max,
    format: key.format,
    is_secret: type !== 'boolean' && isSecretName(key.key) ? true : undefined,
    platforms: ownRules(key, levels),
    ...describeSubkeys(type, subkeys, levels),
  };
}

function describeSubkeys(
  type: SchemaKey['type'],
  subkeys: SchemaKey[] | undefined,
  levels: Levels,
): Pick<KeyDescription, 'items' | 'keys' | 'choices'> {
  if (subkeys === undefined) return {};
  if (type === 'array') return { items: describeKeys(subkeys, levels) };
  if (type !== 'string') return { keys: describeKeys(subkeys, levels) };
  const choices = subkeys.map((key) => {
    return { value: key.key, platforms: ownRules(key, [...levels, key.os]) };
  });
  return { choices };
}

function ownRules({ os }: SchemaKey, levels: Levels): PlatformRules[] | undefined {
  return os === undefined ? undefined : platformRules(levels);
}
