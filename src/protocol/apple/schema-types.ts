export type Platform = 'iOS' | 'macOS' | 'tvOS' | 'visionOS' | 'watchOS';

/** What one system says of an item or key; an attribute that is absent is inherited from above. */
export interface SchemaOs {
  /** A version, or `n/a`: not on this system. */
  introduced?: string;
  deprecated?: string;
  removed?: string;
  /** Apple's name of an access right; `None` and `n/a`: none is needed. */
  accessrights?: string;
  supervised?: boolean;
  /** Only after Automated Device Enrollment. */
  requiresdep?: boolean;
  /** Payloads only: needs an enrollment that the user of the Mac approved, or an automated one. */
  userapprovedmdm?: boolean;
  devicechannel?: boolean;
  userchannel?: boolean;
  sharedipad?: { mode?: string; devicechannel?: boolean; userchannel?: boolean };
  userenrollment?: { mode?: string };
}

export type SchemaSystems = { [P in Platform]?: SchemaOs };

export type SchemaType =
  | 'string'
  | 'integer'
  | 'real'
  | 'boolean'
  | 'date'
  | 'data'
  | 'array'
  | 'dictionary'
  | 'any';

export interface SchemaKey {
  key: string;
  type: SchemaType;
  presence?: 'required' | 'optional';
  default?: unknown;
  rangelist?: (string | number | boolean)[];
  range?: { min?: number; max?: number };
  repetition?: { min?: number; max?: number };
  /** A regular expression the whole string has to match. */
  format?: string;
  os?: SchemaSystems;
  /** An array's element, a string's allowed values, or a dictionary's keys. */
  subkeys?: SchemaKey[];
}

export interface SchemaItem {
  requestType: string;
  /** Apple's title. */
  label?: string;
  os?: SchemaSystems;
  keys?: SchemaKey[];
  response?: SchemaKey[];
}

/** One step down a JSON pointer (RFC 6901 §3). */
export function pointerTo(parent: string, name: string | number): string {
  return `${parent}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The schema of a name within a dictionary; a key called ANY stands for every other name. */
export function keyNamed(keys: SchemaKey[], name: string): SchemaKey | undefined {
  return keys.find(({ key }) => key === name) ?? keys.find(({ key }) => key === 'ANY');
}

/**
 * The schema of one element of an array. Where several are listed (Settings does), the element's
 * own `Item` says which it is.
 */
export function elementKey(array: SchemaKey, item: unknown): SchemaKey | undefined {
  const kinds = array.subkeys ?? [];
  return kinds.length > 1 ? kinds.find(({ key }) => key === item) : kinds[0];
}
