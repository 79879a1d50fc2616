import {
  hasSecrets,
  maskSecrets,
  plistToJson,
} from '../../../src/protocol/apple/command-schema.js';
import { parsePlistDict } from '../../../src/protocol/plist/plist.js';
import { fixture } from '../plist/plist-fixtures.js';

describe('masking secrets', () => {
  it.each([
    'UnlockToken',
    'PIN',
    'Password',
    'NewPassword',
    'CurrentPassword',
    'passwordHash',
    'Challenge',
    'FileVaultUnlock',
    'PrivateKeyExport',
    'PrivateKeyExportPassword',
    'RedemptionCode',
    'UnusedRedemptionCode',
    'ActivationLockBypassCode',
    'BootstrapToken',
    'FDE_PersonalRecoveryKeyCMS',
    'FDE_PersonalRecoveryKeyDeviceKey',
    'PersonalRecoveryKey',
    'EncryptedNewRecoveryKey',
    'PushToken',
    'PushMagic',
    'Token',
    'TokenData',
    'Payload',
    'WiFiProfileData',
    'MDMProfileData',
  ])('masks %s at any depth', (key) => {
    const json = { a: [{ b: { [key]: 'secret', other: 1 } }] };
    expect(hasSecrets(json)).toBe(true);
    expect(maskSecrets(json)).toEqual({ a: [{ b: { [key]: '********', other: 1 } }] });
    expect(JSON.stringify(json)).toContain('secret');
  });

  it('masks an object and data as a whole', () => {
    expect(maskSecrets({ FileVaultUnlock: { Password: 'x' } })).toEqual({
      FileVaultUnlock: '********',
    });
    expect(hasSecrets({ Payload: Buffer.from('x') })).toBe(true);
    expect(hasSecrets([{ UnlockToken: Buffer.from('x') }])).toBe(true);
  });

  it('does not mask keys that only resemble a secret', () => {
    const json = {
      PasscodePresent: true,
      BootstrapTokenAllowedForAuthentication: 'allowed',
      PasswordChanged: true,
      ProductKey: '091-51303',
      Password: false,
      PIN: null,
      Queries: ['PushToken', 'PIN'],
      when: 'Password',
    };
    expect(hasSecrets(json)).toBe(false);
    expect(maskSecrets(json)).toEqual(json);
  });

  it('finds the captured messages with secrets', () => {
    expect(hasSecrets(parsePlistDict(fixture('response/SecurityInfo.ios-11.3.1.plist')))).toBe(
      false,
    );
    expect(hasSecrets(parsePlistDict(fixture('checkin/TokenUpdate.ipad-9.3.5.plist')))).toBe(true);
    expect(hasSecrets(parsePlistDict(fixture('command/InstallProfile.plist')))).toBe(true);
  });
});

describe('the JSON view of plist values', () => {
  it('writes data, dates and large integers as text', () => {
    const value = {
      data: Buffer.from('hello'),
      date: new Date('2016-11-03T03:12:26Z'),
      fraction: new Date('2016-11-03T03:12:26.25Z'),
      small: 7,
      large: 9007199254740993n,
      none: Number.NaN,
      list: [true, 'x', { real: 1.5 }],
    };
    expect(plistToJson(value)).toEqual({
      data: 'aGVsbG8=',
      date: '2016-11-03T03:12:26+00:00',
      fraction: '2016-11-03T03:12:26.250+00:00',
      small: 7,
      large: '9007199254740993',
      none: null,
      list: [true, 'x', { real: 1.5 }],
    });
  });

  it('keeps a key named __proto__ a key', () => {
    const value = JSON.parse('{"__proto__": {"Password": "x"}}') as { [key: string]: string };
    expect(JSON.stringify(plistToJson(value))).toBe('{"__proto__":{"Password":"x"}}');
    expect(JSON.stringify(maskSecrets(value))).toBe('{"__proto__":{"Password":"********"}}');
  });

  it('shows a captured answer', () => {
    const report = plistToJson(
      parsePlistDict(fixture('response/DeviceInformation.macos-10.11.plist')),
    );
    expect(report).toMatchObject({
      Status: 'Acknowledged',
      QueryResponses: { OSUpdateSettings: { PreviousScanDate: expect.stringMatching(/\+00:00$/) } },
    });
  });
});
