/** What joins keys of one dictionary, as GET /command_types says it. */
export interface Condition {
  kind: 'one_of' | 'at_least_one_of' | 'together' | 'requires' | 'excludes';
  keys: readonly string[];
  text: string;
}

/** A key of a command as GET /command_types describes it. */
export interface Key {
  name: string;
  type:
    | 'string'
    | 'integer'
    | 'real'
    | 'boolean'
    | 'date'
    | 'data'
    | 'array'
    | 'dictionary'
    | 'any';
  presence: 'required' | 'optional';
  default?: unknown;
  values?: readonly unknown[];
  min?: number;
  max?: number;
  min_items?: number;
  max_items?: number;
  format?: string;
  is_secret?: boolean;
  /** What the server does then. */
  when_left_out?: string;
  platforms?: readonly { platform: string; supervised?: boolean }[];
  keys?: readonly Key[];
  /** Of the keys of a dictionary, or of those of each element. */
  conditions?: readonly Condition[];
  items?: readonly Key[];
  choices?: readonly { value: string }[];
}

/** How a key is shown in the form. */
export type Kind =
  | 'text'
  | 'secret'
  | 'number'
  | 'boolean'
  | 'choice'
  | 'date'
  | 'data'
  | 'choices'
  | 'lines'
  | 'list'
  | 'dictionary'
  | 'json';

/** Stands for any name. */
const ANY = 'ANY';

export function kindOf(key: Key): Kind {
  if (key.type === 'array') return kindOfArray(key);
  if (key.type === 'boolean') return 'boolean';
  if (allowedValues(key).length > 0) return 'choice';
  switch (key.type) {
    case 'string':
      return key.is_secret ? 'secret' : 'text';
    case 'integer':
    case 'real':
      return 'number';
    case 'date':
    case 'data':
      return key.type;
    case 'dictionary':
      return isNamed(key) ? 'dictionary' : 'json';
    default:
      return 'json';
  }
}

function kindOfArray({ items = [] }: Key): Kind {
  const [only] = items;
  if (only !== undefined && items.length === 1) {
    if (only.type === 'string' && allowedValues(only).length > 0) return 'choices';
    if (only.type === 'string' || only.type === 'data') return 'lines';
  }
  const isForms = items.length > 0 && items.every((item) => kindOf(item) === 'dictionary');
  return isForms ? 'list' : 'json';
}

/** All members have a name, so that each has its field. */
function isNamed({ keys = [] }: Key): boolean {
  return keys.length > 0 && keys.every(({ name }) => name !== ANY);
}

/** What a value of the key is chosen from; empty where it is typed. */
export function allowedValues({ values, choices }: Key): readonly unknown[] {
  return values ?? choices?.map(({ value }) => value) ?? [];
}

/** The only value of a key that has to be there. */
export function constantOf(key: Key): unknown {
  const values = allowedValues(key);
  return key.presence === 'required' && values.length === 1 ? values[0] : undefined;
}

/** The keys of a form in their order: required ones, those of which one is needed, the others. */
export function sortKeys(keys: readonly Key[], conditions: readonly Condition[] = []) {
  const shown = keys.filter((key) => !isHidden(key));
  const needed = conditions.filter(needsOne).map((condition) => ({
    condition,
    keys: shown.filter(({ name }) => condition.keys.includes(name)),
  }));
  const others = shown.filter((key) => !needed.some((group) => group.keys.includes(key)));
  return {
    required: others.filter(({ presence }) => presence === 'required'),
    needed,
    optional: others.filter(({ presence }) => presence === 'optional'),
  };
}

/** Whether one of its keys has to be there. */
export function needsOne({ kind }: Condition): boolean {
  return kind === 'one_of' || kind === 'at_least_one_of';
}

/** What is said at the field of a key. That one of several is needed is said above them. */
export function joinedBy(name: string, conditions: readonly Condition[] = []): readonly string[] {
  const own = conditions.filter((one) => !needsOne(one) && one.keys.includes(name));
  return own.map(({ text }) => text);
}

/** Which kind an element of a list is, and what no platform takes: nobody has to fill that in. */
export function isHidden(key: Key): boolean {
  const isKind = key.name === 'Item' && constantOf(key) !== undefined;
  return isKind || key.platforms?.length === 0;
}

/** One step down a JSON pointer. */
export function pointerTo(parent: string, name: string | number): string {
  return `${parent}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

const HIDDEN = '••••••';

/** The parameters with dots in place of each secret, as a page may show them. */
export function hideSecrets(
  keys: readonly Key[],
  parameters: Record<string, unknown>,
): Record<string, unknown> {
  const named = Object.entries(parameters).map(([name, value]) => {
    const same = keys.filter((key) => key.name === name);
    return [name, hide(same, value)];
  });
  return Object.fromEntries(named);
}

/** Elements of a list can be of several forms: what is secret in one of them is hidden in all. */
function hide(keys: readonly Key[], value: unknown): unknown {
  if (keys.some((key) => key.is_secret)) return HIDDEN;
  if (Array.isArray(value)) {
    const items = keys.flatMap((key) => key.items ?? []);
    return value.map((element: unknown) => hide(items, element));
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = keys.flatMap((key) => key.keys ?? []);
  return hideSecrets(members, value as Record<string, unknown>);
}
