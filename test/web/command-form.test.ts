import { keysOf as keysOfCommand } from '../../src/commands/command-types.js';
import { requestTypes } from '../../src/protocol/apple/command-schema.js';
import { type Draft, newDraft, newEntry } from '../../web/src/features/commands/form/draft.js';
import { hideSecrets, type Key, kindOf } from '../../web/src/features/commands/form/keys.js';
import { wordsOf } from '../../web/src/features/commands/form/words-of.js';
import { writeForm } from '../../web/src/features/commands/form/write-form.js';
import { topicOf } from '../../web/src/features/commands/sender/topics.js';

function keysOf(requestType: string): readonly Key[] {
  return keysOfCommand(requestType, 'keys') as Key[];
}

function write(requestType: string, draft: Draft) {
  const keys = keysOf(requestType);
  return writeForm(keys, { ...newDraft(keys), ...draft });
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
