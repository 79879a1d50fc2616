import { checkJsonParameters } from '../../src/commands/payload.js';
import {
  describeCommand,
  type KeyDescription,
  requestTypes,
} from '../../src/protocol/apple/command-schema.js';

const PARAMETERS = '/data/attributes/parameters';

/** The faults of parameters, each with its place. */
function faultsOf(requestType: string, parameters: object): string[] {
  const { faults } = checkJsonParameters(requestType, parameters);
  return faults.map(
    ({ detail, source }) => `${source?.pointer?.slice(PARAMETERS.length)}: ${detail}`,
  );
}

const ADMINS = [{ shortName: 'admin' }];
const BOOK = { MediaType: 'Book' };
const KEY = { PrivateKeyExport: 'AAAA', PrivateKeyExportPassword: 'p' };
const KEY_TYPE = { KeyType: 'institutional', NewCertificate: 'AAAA' };
const UPDATE = { ProductKey: 'a', InstallAction: 'InstallLater' };

/** Parameters that break one condition, its fault, and the same without it. */
const GOLDEN: [requestType: string, broken: object, fault: string, whole: object][] = [
  [
    'AccountConfiguration',
    { SkipPrimarySetupAccountCreation: true },
    '/AutoSetupAdminAccounts: SkipPrimarySetupAccountCreation needs AutoSetupAdminAccounts',
    { SkipPrimarySetupAccountCreation: true, AutoSetupAdminAccounts: ADMINS },
  ],
  [
    'AccountConfiguration',
    { SetPrimarySetupAccountAsRegularUser: true, AutoSetupAdminAccounts: [] },
    '/AutoSetupAdminAccounts: SetPrimarySetupAccountAsRegularUser needs AutoSetupAdminAccounts',
    { SetPrimarySetupAccountAsRegularUser: false },
  ],
  [
    'AccountConfiguration',
    { LockPrimaryAccountInfo: true, DontAutoPopulatePrimaryAccountInfo: true },
    '/DontAutoPopulatePrimaryAccountInfo: DontAutoPopulatePrimaryAccountInfo is not possible with LockPrimaryAccountInfo',
    { LockPrimaryAccountInfo: true, DontAutoPopulatePrimaryAccountInfo: false },
  ],
  [
    'DeleteUser',
    { DeleteAllUsers: false, UserName: '' },
    ': DeleteUser needs UserName or DeleteAllUsers',
    { DeleteAllUsers: true },
  ],
  [
    'EnableLostMode',
    { Footnote: 'Please' },
    ': EnableLostMode needs Message or PhoneNumber',
    { PhoneNumber: '+49 30 1', Message: 'Lost' },
  ],
  [
    'InstallApplication',
    { Options: { PurchaseMethod: 1 } },
    ': InstallApplication needs iTunesStoreID, Identifier or ManifestURL',
    { Identifier: 'com.example.app' },
  ],
  [
    'InstallApplication',
    { iTunesStoreID: 361_309_726, ManifestURL: 'https://mdm.example.org/app.plist' },
    '/ManifestURL: InstallApplication takes only one of iTunesStoreID, Identifier or ManifestURL',
    { iTunesStoreID: 361_309_726 },
  ],
  [
    'InstallEnterpriseApplication',
    {},
    ': InstallEnterpriseApplication needs Manifest or ManifestURL',
    { ManifestURL: 'https://mdm.example.org/app.plist' },
  ],
  [
    'InstallEnterpriseApplication',
    { Manifest: { items: [] }, ManagementFlags: 1 },
    '/InstallAsManaged: ManagementFlags needs InstallAsManaged',
    { Manifest: { items: [] }, ManagementFlags: 1, InstallAsManaged: true },
  ],
  [
    'InstallEnterpriseApplication',
    { Manifest: { items: [] }, ChangeManagementState: 'Managed', InstallAsManaged: false },
    '/InstallAsManaged: ChangeManagementState needs InstallAsManaged',
    { Manifest: { items: [] }, InstallAsManaged: true },
  ],
  [
    'InstallMedia',
    BOOK,
    ': InstallMedia needs iTunesStoreID or MediaURL',
    { ...BOOK, iTunesStoreID: 1 },
  ],
  [
    'RemoveMedia',
    BOOK,
    ': RemoveMedia needs iTunesStoreID or PersistentID',
    { ...BOOK, PersistentID: 'handbook' },
  ],
  [
    'RequestMirroring',
    { ScanTime: 10 },
    ': RequestMirroring needs DestinationName or DestinationDeviceID',
    { DestinationName: 'Lobby' },
  ],
  [
    'RestartDevice',
    { KextPaths: ['/a.kext'] },
    '/RebuildKernelCache: KextPaths needs RebuildKernelCache',
    { KextPaths: ['/a.kext'], RebuildKernelCache: true },
  ],
  [
    'RotateFileVaultKey',
    { KeyType: 'institutional', FileVaultUnlock: KEY },
    '/NewCertificate: KeyType institutional needs NewCertificate',
    { ...KEY_TYPE, FileVaultUnlock: KEY },
  ],
  [
    'RotateFileVaultKey',
    { KeyType: 'personal', FileVaultUnlock: KEY },
    '/KeyType: FileVaultUnlock.PrivateKeyExport needs KeyType institutional',
    { KeyType: 'personal', FileVaultUnlock: { Password: 'p' } },
  ],
  [
    'RotateFileVaultKey',
    { KeyType: 'personal', FileVaultUnlock: {} },
    '/FileVaultUnlock: FileVaultUnlock needs Password or PrivateKeyExport',
    { ...KEY_TYPE, FileVaultUnlock: { Password: 'p' } },
  ],
  [
    'RotateFileVaultKey',
    { ...KEY_TYPE, FileVaultUnlock: { PrivateKeyExport: 'AAAA' } },
    '/FileVaultUnlock/PrivateKeyExportPassword: PrivateKeyExport needs PrivateKeyExportPassword',
    { ...KEY_TYPE, FileVaultUnlock: KEY },
  ],
  [
    'ScheduleOSUpdate',
    { Updates: [UPDATE, { InstallAction: 'Default' }] },
    '/Updates/1: an element of Updates needs ProductKey or ProductVersion',
    { Updates: [UPDATE, { ProductVersion: '18.1.1', InstallAction: 'Default' }] },
  ],
  [
    'ScheduleOSUpdate',
    { Updates: [{ ...UPDATE, InstallAction: 'Default', MaxUserDeferrals: 3 }] },
    '/Updates/0/InstallAction: MaxUserDeferrals needs InstallAction InstallLater',
    { Updates: [{ ...UPDATE, MaxUserDeferrals: 3 }] },
  ],
];

describe('a condition that joins keys of a command', () => {
  it.each(GOLDEN)('of %s, broken by %j, is one fault', (requestType, broken, fault, whole) => {
    expect(faultsOf(requestType, broken)).toEqual([fault]);
    expect(faultsOf(requestType, whole)).toEqual([]);
  });

  it('is not broken by a key that has a fault already', () => {
    expect(faultsOf('InstallApplication', { iTunesStoreID: 'one' })).toEqual([
      '/iTunesStoreID: iTunesStoreID must be an integer',
    ]);
  });
});

interface Conditions {
  keys?: KeyDescription[] | undefined;
  conditions?: { kind: string; keys: readonly string[]; text: string }[] | undefined;
}

/** The conditions of a dictionary and of those in it, with its keys. */
function conditionsIn({ keys = [], conditions = [] }: Conditions): [string, string[]][] {
  const names = keys.flatMap(({ name, keys: inner = [] }) => [
    name,
    ...inner.map((one) => `${name}.${one.name}`),
  ]);
  const inside = keys.flatMap((key) => {
    const [item] = key.items ?? [];
    return conditionsIn({ keys: key.keys ?? item?.keys, conditions: key.conditions });
  });
  const own = conditions.map(({ keys: joined, text }): [string, string[]] => [
    text,
    joined.filter((name) => !names.includes(name)),
  ]);
  return [...own, ...inside];
}

it('joins keys that Apple has, and is a sentence, for every command', () => {
  const all = requestTypes().flatMap((requestType) =>
    conditionsIn(describeCommand(requestType) ?? {}),
  );
  expect(all.filter(([, unknown]) => unknown.length > 0)).toEqual([]);
  expect(all.map(([text]) => text)).toMatchSnapshot();
});
