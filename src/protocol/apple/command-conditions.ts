import { isPlistDict, type PlistDict, type PlistValue } from '../plist/plist.js';
import { pointerTo, type SchemaItem, type SchemaKey } from './schema-types.js';

/**
 * `one_of`: exactly one of the keys; `at_least_one_of`: one or more; `together`: all or none; `requires`: the first
 * one only with the second; `excludes`: the first one only without the second.
 */
export type ConditionKind = 'one_of' | 'at_least_one_of' | 'together' | 'requires' | 'excludes';

/** What Apple's documentation says of keys of one dictionary that belong together. */
export interface Condition {
  kind: ConditionKind;
  /** A key of a dictionary in it has the name of that one before its own, with a dot. */
  keys: readonly string[];
  /** The value that counts, where it is not any value. */
  values?: Readonly<Record<string, PlistValue>>;
}

/** The conditions of a command, by the key that holds the dictionary; '' is the parameters. */
type Conditions = Record<string, readonly Condition[]>;

/** Apple's schema has no place for conditions: they are from the texts of its commands. */
const CONDITIONS: Record<string, Conditions> = {
  AccountConfiguration: {
    '': [
      { kind: 'requires', keys: ['SkipPrimarySetupAccountCreation', 'AutoSetupAdminAccounts'] },
      { kind: 'requires', keys: ['SetPrimarySetupAccountAsRegularUser', 'AutoSetupAdminAccounts'] },
      { kind: 'excludes', keys: ['LockPrimaryAccountInfo', 'DontAutoPopulatePrimaryAccountInfo'] },
    ],
  },
  DeleteUser: { '': [{ kind: 'at_least_one_of', keys: ['UserName', 'DeleteAllUsers'] }] },
  EnableLostMode: { '': [{ kind: 'at_least_one_of', keys: ['Message', 'PhoneNumber'] }] },
  InstallApplication: {
    '': [{ kind: 'one_of', keys: ['iTunesStoreID', 'Identifier', 'ManifestURL'] }],
  },
  InstallEnterpriseApplication: {
    '': [
      { kind: 'one_of', keys: ['Manifest', 'ManifestURL'] },
      { kind: 'requires', keys: ['ManagementFlags', 'InstallAsManaged'] },
      { kind: 'requires', keys: ['ChangeManagementState', 'InstallAsManaged'] },
    ],
  },
  InstallMedia: { '': [{ kind: 'one_of', keys: ['iTunesStoreID', 'MediaURL'] }] },
  RemoveMedia: { '': [{ kind: 'at_least_one_of', keys: ['iTunesStoreID', 'PersistentID'] }] },
  RequestMirroring: {
    '': [{ kind: 'at_least_one_of', keys: ['DestinationName', 'DestinationDeviceID'] }],
  },
  RestartDevice: { '': [{ kind: 'requires', keys: ['KextPaths', 'RebuildKernelCache'] }] },
  RotateFileVaultKey: {
    '': [
      {
        kind: 'requires',
        keys: ['KeyType', 'NewCertificate'],
        values: { KeyType: 'institutional' },
      },
      {
        kind: 'requires',
        keys: ['FileVaultUnlock.PrivateKeyExport', 'KeyType'],
        values: { KeyType: 'institutional' },
      },
    ],
    FileVaultUnlock: [
      { kind: 'at_least_one_of', keys: ['Password', 'PrivateKeyExport'] },
      { kind: 'together', keys: ['PrivateKeyExport', 'PrivateKeyExportPassword'] },
    ],
  },
  ScheduleOSUpdate: {
    Updates: [
      { kind: 'at_least_one_of', keys: ['ProductKey', 'ProductVersion'] },
      {
        kind: 'requires',
        keys: ['MaxUserDeferrals', 'InstallAction'],
        values: { InstallAction: 'InstallLater' },
      },
    ],
  },
};

/** The conditions of the keys of the parameters (''), or of those of a dictionary or of the elements of an array. */
export function conditionsOf(requestType: string, within = ''): readonly Condition[] {
  const own = Object.hasOwn(CONDITIONS, requestType) ? CONDITIONS[requestType] : undefined;
  return own !== undefined && Object.hasOwn(own, within) ? (own[within] ?? []) : [];
}

/** A condition as a sentence. */
export function conditionText({ kind, keys, values }: Condition): string {
  const [first = '', second = ''] = keys.map((name) => withValue(name, values));
  switch (kind) {
    case 'one_of':
      return `Exactly one of these is needed: ${listed(keys, 'or')}.`;
    case 'at_least_one_of':
      return `One of these is needed: ${listed(keys, 'or')}.`;
    case 'together':
      return `Only together: ${listed(keys, 'and')}.`;
    case 'requires':
      return `${first} needs ${second}.`;
    case 'excludes':
      return `Not together: ${listed(keys, 'and')}.`;
  }
}

/** A condition that is not met. */
export interface ConditionFault {
  pointer: string;
  detail: string;
}

/**
 * What is wrong with the parameters at `pointer`, by the conditions of their command. A key that has a fault already
 * breaks no condition.
 */
export function conditionFaults(
  requestType: string,
  parameters: PlistDict,
  { pointer, faulty = [] }: { pointer: string; faulty?: readonly string[] | undefined },
): ConditionFault[] {
  const own = Object.hasOwn(CONDITIONS, requestType) ? CONDITIONS[requestType] : undefined;
  return Object.entries(own ?? {}).flatMap(([within, conditions]) =>
    dictsAt(parameters, { within, pointer, requestType }).flatMap((place) =>
      conditions
        .filter(({ keys }) => !keys.some((name) => isFaulty(name, place.pointer, faulty)))
        .flatMap((condition) => faultOf(condition, place)),
    ),
  );
}

interface Place {
  dict: PlistDict;
  pointer: string;
  /** What the dictionary is called in a fault. */
  subject: string;
}

function dictsAt(
  parameters: PlistDict,
  at: { within: string; pointer: string; requestType: string },
): Place[] {
  const { within, pointer, requestType } = at;
  if (within === '') return [{ dict: parameters, pointer, subject: requestType }];
  const { [within]: value } = parameters;
  const own = pointerTo(pointer, within);
  if (isPlistDict(value)) return [{ dict: value, pointer: own, subject: within }];
  if (!Array.isArray(value)) return [];
  return value.flatMap((dict, index) =>
    isPlistDict(dict)
      ? [{ dict, pointer: pointerTo(own, index), subject: `an element of ${within}` }]
      : [],
  );
}

function isFaulty(name: string, pointer: string, faulty: readonly string[]): boolean {
  const at = pointerOf(name, pointer);
  return faulty.some((one) => one === at || one.startsWith(`${at}/`) || at.startsWith(`${one}/`));
}

function pointerOf(name: string, pointer: string): string {
  return name.split('.').reduce(pointerTo, pointer);
}

function faultOf({ kind, keys, values }: Condition, place: Place): ConditionFault[] {
  const { dict, pointer, subject } = place;
  const counts = (name: string) => isMet(dict, name, values);
  const [first = '', second = ''] = keys;
  const at = (name: string) => pointerOf(name, pointer);
  const given = keys.filter(counts);
  const missing = keys.find((name) => !counts(name));
  switch (kind) {
    case 'one_of':
    case 'at_least_one_of':
      if (given.length === 0)
        return [{ pointer, detail: `${subject} needs ${listed(keys, 'or')}` }];
      if (kind === 'at_least_one_of' || given.length === 1) return [];
      return [
        {
          pointer: at(given[1] ?? ''),
          detail: `${subject} takes only one of ${listed(keys, 'or')}`,
        },
      ];
    case 'together':
      if (given.length === 0 || missing === undefined) return [];
      return [{ pointer: at(missing), detail: `${given[0]} needs ${missing}` }];
    case 'requires':
      if (!counts(first) || counts(second)) return [];
      return [
        {
          pointer: at(second),
          detail: `${withValue(first, values)} needs ${withValue(second, values)}`,
        },
      ];
    case 'excludes':
      if (!counts(first) || !counts(second)) return [];
      return [{ pointer: at(second), detail: `${second} is not possible with ${first}` }];
  }
}

/** What is empty or false counts as not given: false is the default of each boolean among them. */
function isMet(dict: PlistDict, name: string, values: Condition['values']): boolean {
  const value = name
    .split('.')
    .reduce<PlistValue | undefined>((at, part) => (isPlistDict(at) ? at[part] : undefined), dict);
  if (values !== undefined && Object.hasOwn(values, name)) return value === values[name];
  if (value === undefined || value === '' || value === false) return false;
  return !Array.isArray(value) || value.length > 0;
}

function withValue(name: string, values: Condition['values']): string {
  return values !== undefined && Object.hasOwn(values, name) ? `${name} ${values[name]}` : name;
}

function listed(names: readonly string[], word: 'and' | 'or'): string {
  return `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1)}`;
}

/** Ranges that only the texts of Apple's commands have, by the names that lead to the key. */
const LIMITS: Record<string, { min?: number; max?: number }> = {
  'RequestMirroring.ScanTime': { min: 10, max: 300 },
  'ScheduleOSUpdate.Updates.UpdatesItem.MaxUserDeferrals': { min: 0 },
  'Settings.Settings.SharedDeviceConfiguration.PasscodePolicy.AutoLockTime': { min: 120 },
};

/** The schema of a command, with those ranges. */
export function withLimits(item: SchemaItem): SchemaItem {
  const { requestType, keys } = item;
  const hasLimits = Object.keys(LIMITS).some((path) => path.startsWith(`${requestType}.`));
  return keys !== undefined && hasLimits ? { ...item, keys: limited(keys, requestType) } : item;
}

function limited(keys: SchemaKey[], path: string): SchemaKey[] {
  return keys.map((key) => {
    const at = `${path}.${key.key}`;
    const range = Object.hasOwn(LIMITS, at) ? LIMITS[at] : key.range;
    return {
      ...key,
      ...(range && { range }),
      ...(key.subkeys && { subkeys: limited(key.subkeys, at) }),
    };
  });
}
