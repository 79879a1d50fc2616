import { conditionsOf, keysOf as keysOfCommand } from '../../src/commands/command-types.js';
import { requestTypes } from '../../src/protocol/apple/command-schema.js';
import { type Draft, newDraft, newEntry } from '../../web/src/features/commands/form/draft.js';
import {
  type Condition,
  hideSecrets,
  isHidden,
  joinedBy,
  type Key,
  kindOf,
  sortKeys,
} from '../../web/src/features/commands/form/keys.js';
import { platformHint } from '../../web/src/features/commands/form/platform-hint.js';
import { visibleKeys } from '../../web/src/features/commands/form/visible-keys.js';
import { wordsOf } from '../../web/src/features/commands/form/words-of.js';
import { writeForm } from '../../web/src/features/commands/form/write-form.js';
import { topicOf } from '../../web/src/features/commands/sender/topics.js';
import { valueText } from '../../web/src/text/commands.js';

function keysOf(requestType: string): readonly Key[] {
  return keysOfCommand(requestType, 'keys') as Key[];
}

function write(requestType: string, draft: Draft) {
  const keys = keysOf(requestType);
  const conditions = conditionsOf(requestType) as Condition[];
  return writeForm(keys, { ...newDraft(keys), ...draft }, conditions);
}

function kindsOf(requestType: string) {
  return Object.fromEntries(keysOf(requestType).map((key) => [key.name, kindOf(key)]));
}

describe('the form of a command', () => {
  it('shows each key by the field of its type', () => {
    expect(kindsOf('DeviceInformation')).toEqual({
      Queries: 'choices',
      DeviceAttestationNonce: 'data',
    });
    expect(kindsOf('DeviceLock')).toEqual({ Message: 'text', PhoneNumber: 'text', PIN: 'secret' });
    expect(kindsOf('RestartDevice')).toMatchObject({
      RebuildKernelCache: 'boolean',
      KextPaths: 'lines',
    });
    expect(kindsOf('InstallApplication')).toMatchObject({
      iTunesStoreID: 'number',
      Options: 'dictionary',
      ManagementFlags: 'choice',
      Configuration: 'json',
    });
    expect(kindsOf('Settings')).toEqual({ Settings: 'list' });
  });

  it('leaves out empty fields, for every command', () => {
    for (const requestType of requestTypes()) {
      const keys = keysOf(requestType);
      const { parameters, problems } = writeForm(keys, newDraft(keys));
      const required = keys.filter(({ presence }) => presence === 'required');
      const named = [
        ...Object.keys(parameters),
        ...problems.map(({ pointer }) => pointer.slice(1)),
      ];
      expect(new Set(named)).toEqual(new Set(required.map(({ name }) => name)));
    }
  });

  it('names a required key that is missing, unless the server fills it in', () => {
    expect(write('RemoveProfile', {}).problems).toEqual([
      { pointer: '/Identifier', code: 'required' },
    ]);
    expect(write('DeviceInformation', {}).problems).toEqual([
      { pointer: '/Queries', code: 'chooseOne' },
    ]);
    expect(write('SetRecoveryLock', {})).toEqual({ parameters: {}, problems: [] });
    expect(write('RotateFileVaultKey', { KeyType: 'personal' })).toEqual({
      parameters: { KeyType: 'personal' },
      problems: [],
    });
    expect(write('SetAutoAdminPassword', { GUID: 'G', password: 'secret' })).toEqual({
      parameters: { GUID: 'G', password: 'secret' },
      problems: [],
    });
  });

  it('names the need of one of several keys, and which keys join another one', () => {
    const none = { pointer: '', code: 'oneNeeded' };
    expect(write('InstallApplication', {}).problems).toEqual([none]);
    expect(write('InstallApplication', { Identifier: 'org.example' }).problems).toEqual([]);
    expect(write('DeleteUser', { DeleteAllUsers: 'false' }).problems).toEqual([none]);
    expect(write('InstallApplication', { iTunesStoreID: 'x' }).problems).toEqual([
      { pointer: '/iTunesStoreID', code: 'number' },
    ]);
    const [updates] = keysOf('ScheduleOSUpdate') as [Key];
    const [item] = updates.items as [Key];
    const { draft } = newEntry(item);
    const entry = { id: 1, kind: item.name, draft: { ...draft, InstallAction: 'Default' } };
    expect(write('ScheduleOSUpdate', { Updates: [entry] }).problems).toEqual([
      { pointer: '/Updates/0', code: 'oneNeeded' },
    ]);
    expect(joinedBy('MaxUserDeferrals', updates.conditions)).toEqual([
      'MaxUserDeferrals needs InstallAction InstallLater.',
    ]);
    const sorted = sortKeys(item.keys ?? [], updates.conditions);
    expect(sorted.required.map(({ name }) => name)).toEqual(['InstallAction']);
    expect(sorted.needed.map(({ keys }) => keys.map(({ name }) => name))).toEqual([
      ['ProductKey', 'ProductVersion'],
    ]);
    expect(sorted.optional.map(({ name }) => name)).toEqual(['MaxUserDeferrals', 'Priority']);
  });

  it('says nothing of an optional dictionary that is empty', () => {
    const { problems } = write('RotateFileVaultKey', { KeyType: 'personal' });
    expect(problems).toEqual([]);
  });

  it('says of each setting where it is possible, and shows none that is possible nowhere', () => {
    const [{ items = [] }] = keysOf('Settings') as [Key];
    const hints = Object.fromEntries(items.map((item) => [item.name, platformHint(item)]));
    expect(hints).toMatchObject({
      Wallpaper: 'Only on iOS, supervised.',
      HostName: 'Only on macOS.',
      Bluetooth: 'Only on macOS; on iOS supervised.',
    });
    expect(Object.entries(hints).filter(([, hint]) => hint.includes(' .'))).toEqual([]);
    const hidden = items.flatMap(({ keys = [] }) => keys.filter(isHidden));
    expect(new Set(hidden.map(({ name }) => name))).toEqual(new Set(['Item', 'GrayscaleEnabled']));
  });

  it('says what a number among the values of a key means', () => {
    expect(valueText('Where', 3)).toBe('Both screens (3)');
    expect(valueText('InstallAction', 'Default')).toBe('Default');
    expect(valueText('TextSize', 7)).toBe('7');
  });

  it('writes values in the types of the schema', () => {
    const { parameters, problems } = write('RestartDevice', {
      RebuildKernelCache: 'true',
      KextPaths: '/a.kext\n\n  /b.kext ',
      NotifyUser: '',
    });
    expect(problems).toEqual([]);
    expect(parameters).toEqual({ RebuildKernelCache: true, KextPaths: ['/a.kext', '/b.kext'] });
    expect(write('InstallApplication', { iTunesStoreID: '42', ManagementFlags: '4' })).toEqual({
      parameters: { iTunesStoreID: 42, ManagementFlags: 4 },
      problems: [],
    });
  });

  it('writes an optional dictionary once one of its members is filled in', () => {
    const inner = newDraft(
      keysOf('EraseDevice').find((key) => key.name === 'ReturnToService')?.keys ?? [],
    );
    expect(write('EraseDevice', { ReturnToService: inner })).toEqual({
      parameters: {},
      problems: [],
    });
    const filled = { ...inner, ShouldRetryEnrollment: 'true' };
    expect(write('EraseDevice', { ReturnToService: filled }).problems).toEqual([
      { pointer: '/ReturnToService/Enabled', code: 'required' },
    ]);
    const whole = { ...filled, Enabled: 'true' };
    expect(write('EraseDevice', { ReturnToService: whole }).parameters).toEqual({
      ReturnToService: { Enabled: true, ShouldRetryEnrollment: true },
    });
  });

  it('writes each entry of a list as its kind, and points at what it lacks', () => {
    const kinds = keysOf('Settings')[0]?.items ?? [];
    const entryOf = (name: string, draft: Draft = {}) => {
      const entry = newEntry(kinds.find((kind) => kind.name === name) as Key);
      return { ...entry, draft: { ...entry.draft, ...draft } };
    };
    const entries = [entryOf('Bluetooth', { Enabled: 'false' }), entryOf('DeviceName')];
    const { parameters, problems } = write('Settings', { Settings: entries });
    expect(parameters).toMatchObject({
      Settings: [{ Item: 'Bluetooth', Enabled: false }, { Item: 'DeviceName' }],
    });
    expect(problems).toEqual([{ pointer: '/Settings/1/DeviceName', code: 'required' }]);
  });

  it('says what is wrong with a number, JSON, Base64 and a date', () => {
    const key = (type: Key['type'], more: Partial<Key> = {}): Key => {
      return { name: 'Key', type, presence: 'optional', ...more };
    };
    const codeOf = (one: Key, text: string) => writeForm([one], { Key: text }).problems[0]?.code;
    expect(codeOf(key('integer'), 'ten')).toBe('number');
    expect(codeOf(key('integer'), '1.5')).toBe('integer');
    expect(codeOf(key('integer', { min: 1, max: 5 }), '6')).toBe('range');
    expect(codeOf(key('real', { min: 1 }), '1.5')).toBeUndefined();
    expect(codeOf(key('dictionary'), '{')).toBe('json');
    expect(codeOf(key('dictionary'), '[]')).toBe('jsonObject');
    expect(codeOf(key('array'), '{}')).toBe('jsonList');
    expect(codeOf(key('data'), 'no bytes!')).toBe('data');
    expect(codeOf(key('data'), 'AAEC\nAw==')).toBeUndefined();
    expect(codeOf(key('date'), 'soon')).toBe('date');
    expect(codeOf(key('string', { format: '[0-9]{6}' }), '12')).toBe('format');
  });

  it('hides what is secret where it shows the request', () => {
    const shown = (requestType: string, parameters: Record<string, unknown>) =>
      hideSecrets(keysOf(requestType), parameters);
    expect(shown('SetRecoveryLock', { NewPassword: 'hunter2', CurrentPassword: 'old' })).toEqual({
      NewPassword: '••••••',
      CurrentPassword: '••••••',
    });
    const account = { shortName: 'ada', passwordHash: 'aGFzaA==' };
    expect(shown('AccountConfiguration', { AutoSetupAdminAccounts: [account] })).toEqual({
      AutoSetupAdminAccounts: [{ shortName: 'ada', passwordHash: '••••••' }],
    });
    expect(shown('DeviceLock', { PIN: '123456', Message: 'Lost' })).toEqual({
      PIN: '••••••',
      Message: 'Lost',
    });
  });

  it('has a topic for each of the commands of Apple', () => {
    const without = requestTypes().filter((requestType) => topicOf(requestType) === 'other');
    expect(without).toEqual([]);
  });

  it('shows the names of keys as words', () => {
    expect(wordsOf('RebuildKernelCache')).toBe('Rebuild kernel cache');
    expect(wordsOf('PIN')).toBe('PIN');
    expect(wordsOf('iTunesStoreID')).toBe('iTunes store ID');
    expect(wordsOf('ManifestURLPinningCerts')).toBe('Manifest URL pinning certs');
    expect(wordsOf('FileVaultUnlock')).toBe('FileVault unlock');
    expect(wordsOf('shortName')).toBe('Short name');
  });
});

it('a key for every platform of its command names none of them', () => {
  const mac = { platform: 'macOS' };
  const inner = { name: 'Inner', type: 'string', presence: 'optional', platforms: [mac] } as const;
  const outer = { name: 'Outer', type: 'dictionary', presence: 'optional', keys: [inner] } as const;
  const of = (platforms: string) => {
    const [key] = visibleKeys({ request_type: 'AccountConfiguration', platforms, keys: [outer] });
    return key?.keys?.map((one) => platformHint(one));
  };
  expect([of('macOS'), of('iOS, macOS')]).toEqual([[''], ['Only on macOS.']]);
});
