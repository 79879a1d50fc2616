import { executeCommand } from '../../../src/lab/answers/commands.js';
import type { SimulatedDevice } from '../../../src/lab/devices/simulated-device.js';
import { reportMessage } from '../../../src/lab/wire/messages.js';
import { buildPlist, type PlistDict } from '../../../src/protocol/plist/plist.js';
import {
  answerOf,
  COMMAND_UUID,
  createDevice,
  firstError,
  reporterOf,
} from './device-under-test.js';

const PROFILE: PlistDict = {
  PayloadType: 'Configuration',
  PayloadIdentifier: 'com.example.wifi',
  PayloadUUID: '5D1C7E5C-3C4D-4E1A-B9C3-0C6E4C7A6B11',
  PayloadVersion: 1,
  PayloadDisplayName: 'Office Wi-Fi',
  PayloadContent: [
    {
      PayloadType: 'com.apple.wifi.managed',
      PayloadIdentifier: 'com.example.wifi.1',
      PayloadUUID: '7A3B0E55-8E58-4B51-9F53-0E8E9F0F7A12',
      PayloadVersion: 1,
      Password: 'never reported',
    },
  ],
};

function install(device: SimulatedDevice): PlistDict {
  return answerOf(device, { RequestType: 'InstallProfile', Payload: buildPlist(PROFILE) });
}

describe('a simulated device refuses', () => {
  it('a request type that no device knows', () => {
    const report = answerOf(createDevice('iOS'), { RequestType: 'MakeCoffee' });
    expect(report.Status).toBe('Error');
    expect(firstError(report)).toEqual({
      ErrorCode: 12021,
      ErrorDomain: 'MCMDMErrorDomain',
      LocalizedDescription: '“MakeCoffee” is not a valid request type.',
      USEnglishDescription: '“MakeCoffee” is not a valid request type.',
    });
  });

  it('request types that are members of every JavaScript object', () => {
    for (const RequestType of ['constructor', '__proto__', 'toString']) {
      expect(answerOf(createDevice('iOS'), { RequestType }).Status).toBe('Error');
    }
  });

  it('a command of the other platform, and a supervised one when it is not supervised', () => {
    const mac = answerOf(createDevice('macOS'), { RequestType: 'ClearPasscode' });
    expect(firstError(mac)?.ErrorCode).toBe(12021);
    const phone = answerOf(createDevice('iOS', false), { RequestType: 'RestartDevice' });
    expect(firstError(phone)?.ErrorCode).toBe(12021);
  });

  it('ClearPasscode with the token of another device', () => {
    const device = createDevice('iOS');
    device.hasPasscode = true;
    const UnlockToken = Buffer.from('not this one');
    const report = answerOf(device, { RequestType: 'ClearPasscode', UnlockToken });
    expect(report.Status).toBe('Error');
    expect(firstError(report)?.ErrorDomain).toBe('MCPasscodeErrorDomain');
    expect(device.hasPasscode).toBe(true);
  });

  it('a command without what it needs, as a CommandFormatError', () => {
    for (const RequestType of [
      'ClearPasscode',
      'DeviceInformation',
      'InstallProfile',
      'Settings',
    ]) {
      const report = answerOf(createDevice('iOS'), { RequestType });
      expect([RequestType, report.Status]).toEqual([RequestType, 'CommandFormatError']);
    }
  });

  it('a payload that is no profile', () => {
    const device = createDevice('iOS');
    const Payload = Buffer.from('no profile');
    const report = answerOf(device, { RequestType: 'InstallProfile', Payload });
    expect(report.Status).toBe('Error');
    expect(device.profiles).toEqual([]);
  });

  it('to remove a profile that the server did not install', () => {
    const device = createDevice('iOS');
    device.profiles = [
      { identifier: 'own', content: {}, isManaged: false, signerCertificates: [] },
    ];
    const report = answerOf(device, { RequestType: 'RemoveProfile', Identifier: 'own' });
    expect(firstError(report)?.ErrorCode).toBe(12013);
    expect(device.profiles).toHaveLength(1);
    expect(device.isReleased).toBe(false);
  });
});

describe('a simulated device answers', () => {
  it('DeviceInformation with exactly the queries it knows', () => {
    const device = createDevice('macOS');
    const Queries = ['UDID', 'SerialNumber', 'HostName', 'IMEI', 'NoSuchQuery'];
    const report = answerOf(device, { RequestType: 'DeviceInformation', Queries });
    expect(report.Status).toBe('Acknowledged');
    expect(report.CommandUUID).toBe(COMMAND_UUID);
    expect({ ...(report.QueryResponses as PlistDict) }).toEqual({
      UDID: device.identity.udid,
      SerialNumber: device.identity.serialNumber,
      HostName: device.hostName,
    });
  });

  it('capacities as reals even where they are whole', () => {
    const device = createDevice('iOS');
    const answer = executeCommand(device, {
      RequestType: 'DeviceInformation',
      Queries: ['DeviceCapacity'],
    });
    const reported = { commandUuid: '1', requestType: undefined, answer };
    const bytes = reportMessage(reporterOf(device), reported);
    expect(bytes.toString()).toContain(`<real>${device.identity.capacity}</real>`);
  });

  it('InstalledApplicationList with hundreds of applications on a Mac, some without Identifier', () => {
    const report = answerOf(createDevice('macOS'), { RequestType: 'InstalledApplicationList' });
    const list = report.InstalledApplicationList as PlistDict[];
    expect(list.length).toBeGreaterThanOrEqual(150);
    expect(list.length).toBeLessThanOrEqual(400);
    expect(list.some(({ Identifier }) => Identifier === undefined)).toBe(true);
    expect(list.every(({ Name, BundleSize }) => Name !== '' && Number(BundleSize) > 0)).toBe(true);
  });

  it('InstalledApplicationList for named applications only', () => {
    const device = createDevice('iOS');
    const wanted = device.applications[3]?.identifier ?? '';
    const command = { RequestType: 'InstalledApplicationList', Identifiers: [wanted, 'no.such'] };
    const list = answerOf(device, command).InstalledApplicationList as PlistDict[];
    expect(list.map(({ Identifier }) => Identifier)).toEqual([wanted]);
  });

  it('SecurityInfo nested, with what its platform has', () => {
    const phone = answerOf(createDevice('iOS'), { RequestType: 'SecurityInfo' });
    expect((phone.SecurityInfo as PlistDict).HardwareEncryptionCaps).toBe(3);
    const mac = answerOf(createDevice('macOS'), { RequestType: 'SecurityInfo' });
    expect((mac.SecurityInfo as PlistDict).SystemIntegrityProtectionEnabled).toBe(true);
    expect((mac.SecurityInfo as PlistDict).PasscodePresent).toBeUndefined();
  });

  it('ClearPasscode with its own token, and reports afterwards that there is no passcode', () => {
    const device = createDevice('iOS');
    device.hasPasscode = true;
    const UnlockToken = device.unlockToken ?? Buffer.alloc(0);
    expect(answerOf(device, { RequestType: 'ClearPasscode', UnlockToken }).Status).toBe(
      'Acknowledged',
    );
    const security = answerOf(device, { RequestType: 'SecurityInfo' }).SecurityInfo as PlistDict;
    expect(security.PasscodePresent).toBe(false);
  });

  it('ProfileList with an installed profile but none of its secrets, until it is removed', () => {
    const device = createDevice('iOS');
    expect(install(device).Status).toBe('Acknowledged');
    expect(install(device).Status).toBe('Acknowledged');
    const listed = answerOf(device, { RequestType: 'ProfileList' });
    expect(listed.ProfileList).toEqual([
      expect.objectContaining({
        PayloadIdentifier: 'com.example.wifi',
        PayloadDisplayName: 'Office Wi-Fi',
        IsManaged: true,
        PayloadContent: [
          expect.objectContaining({ PayloadType: 'com.apple.wifi.managed', PayloadVersion: 1 }),
        ],
      }),
    ]);
    expect(JSON.stringify(listed)).not.toContain('never reported');
    const removal = { RequestType: 'RemoveProfile', Identifier: 'com.example.wifi' };
    expect(answerOf(device, removal).Status).toBe('Acknowledged');
    expect(answerOf(device, { RequestType: 'ProfileList' }).ProfileList).toEqual([]);
  });

  it('RemoveProfile of its enrollment profile, which releases it', () => {
    const device = createDevice('macOS');
    const content = { PayloadContent: [{ PayloadType: 'com.apple.mdm' }] };
    device.profiles = [{ identifier: 'enroll', content, isManaged: false, signerCertificates: [] }];
    const report = answerOf(device, { RequestType: 'RemoveProfile', Identifier: 'enroll' });
    expect(report.Status).toBe('Acknowledged');
    expect(device.isReleased).toBe(true);
  });

  it('Settings one by one, and is called by its new name from then on', () => {
    const device = createDevice('iOS');
    const Settings = [
      { Item: 'DeviceName', DeviceName: 'Front desk' },
      { Item: 'HostName', HostName: 'for-macs-only' },
    ];
    const report = answerOf(device, { RequestType: 'Settings', Settings });
    expect(report.Status).toBe('Acknowledged');
    expect(report.Settings).toEqual([
      { Item: 'DeviceName', Status: 'Acknowledged' },
      expect.objectContaining({ Item: 'HostName', Status: 'Error' }),
    ]);
    const info = answerOf(device, { RequestType: 'DeviceInformation', Queries: ['DeviceName'] });
    expect({ ...(info.QueryResponses as PlistDict) }).toEqual({ DeviceName: 'Front desk' });
  });

  it('AvailableOSUpdates with releases newer than its own', () => {
    const device = createDevice('macOS');
    const report = answerOf(device, { RequestType: 'AvailableOSUpdates' });
    const updates = report.AvailableOSUpdates as PlistDict[];
    expect(updates.map(({ HumanReadableName }) => HumanReadableName)).toContain('Safari');
    expect(updates.some(({ Version }) => Version === device.identity.release.version)).toBe(false);
  });

  it('with its request type repeated only on a Mac', () => {
    const command = { RequestType: 'ProvisioningProfileList' };
    expect(answerOf(createDevice('macOS'), command).RequestType).toBe('ProvisioningProfileList');
    expect(answerOf(createDevice('iOS'), command).RequestType).toBeUndefined();
  });
});
