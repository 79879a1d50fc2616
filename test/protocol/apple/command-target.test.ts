import { bitOfRight } from '../../../src/protocol/apple/access-rights.js';
import {
  commandAllowed,
  describeCommand,
  queriesFor,
  requestTypes,
  targetFaults,
} from '../../../src/protocol/apple/command-schema.js';

describe('checking whether a command is allowed for a target', () => {
  it.each<[string, Parameters<typeof commandAllowed>[1]]>([
    ['NoSuchCommand', {}],
    ['ClearPasscode', { platform: 'macOS' }],
    ['RotateFileVaultKey', { platform: 'iOS' }],
    ['AvailableOSUpdates', { platform: 'watchOS' }],
    ['AvailableOSUpdates', { platform: 'iOS', osVersion: '8.4.1' }],
    ['AvailableOSUpdates', { platform: 'iOS', supervised: false }],
    ['AvailableOSUpdates', { platform: 'macOS', osVersion: '10.9.5' }],
    ['DeviceLock', { platform: 'macOS', channel: 'user' }],
    ['ActiveNSExtensions', { platform: 'macOS', channel: 'device' }],
    ['EraseDevice', { platform: 'iOS', userEnrollment: true }],
    ['CertificateList', { platform: 'iOS', channel: 'user' }],
  ])('refuses %s for %j', (requestType, target) => {
    expect(commandAllowed(requestType, target)).toBe(false);
  });

  it.each<[string, Parameters<typeof commandAllowed>[1]]>([
    ['AvailableOSUpdates', {}],
    ['AvailableOSUpdates', { platform: 'iOS' }],
    ['AvailableOSUpdates', { platform: 'iOS', osVersion: '9.0', supervised: true }],
    ['AvailableOSUpdates', { platform: 'iOS', osVersion: 'beta' }],
    ['AvailableOSUpdates', { platform: 'macOS', osVersion: '10.11', supervised: false }],
    ['AvailableOSUpdates', { platform: 'macOS', osVersion: '15' }],
    ['ActiveNSExtensions', { platform: 'macOS', channel: 'user' }],
    ['CertificateList', { platform: 'macOS', channel: 'user' }],
    ['CertificateList', { platform: 'iOS', channel: 'device', userEnrollment: true }],
    ['SecurityInfo', { platform: 'iOS', osVersion: undefined, supervised: undefined }],
  ])('allows %s for %j', (requestType, target) => {
    expect(commandAllowed(requestType, target)).toBe(true);
  });
});

describe('the reasons why a target cannot take a command', () => {
  it.each<[string, Parameters<typeof targetFaults>[1], [string, string][]]>([
    [
      'ClearPasscode',
      { platform: 'macOS', osVersion: '15.0', supervised: false },
      [['platform', 'does not exist on macOS']],
    ],
    [
      'ScheduleOSUpdate',
      { platform: 'iOS', osVersion: '27.0' },
      [['os_version', 'was removed with iOS 27.0, and the device runs 27.0']],
    ],
    [
      'EnableLostMode',
      { platform: 'iOS', osVersion: '9.2.1', supervised: false, userEnrollment: true },
      [
        ['os_version', 'needs iOS 9.3, and the device runs 9.2.1'],
        ['supervision', 'needs a supervised device'],
        ['enrollment', 'is not for a user enrollment'],
      ],
    ],
    [
      'AccountConfiguration',
      { platform: 'macOS', automated: false },
      [['enrollment', 'needs Automated Device Enrollment']],
    ],
    [
      'UserList',
      { platform: 'iOS', sharedIpad: false },
      [['platform', 'exists on a Shared iPad only']],
    ],
    [
      'ClearPasscode',
      { platform: 'iOS', sharedIpad: true },
      [['platform', 'does not exist on a Shared iPad']],
    ],
    [
      'ActiveNSExtensions',
      { platform: 'macOS', channel: 'device' },
      [['channel', 'is for users, not for devices']],
    ],
    [
      'UserConfigured',
      { platform: 'iOS', sharedIpad: true, channel: 'device' },
      [['channel', 'is for users, not for devices']],
    ],
    [
      'SetRecoveryLock',
      { platform: 'macOS', appleSilicon: false },
      [['platform', 'needs a Mac with Apple silicon']],
    ],
    [
      'SetFirmwarePassword',
      { platform: 'macOS', appleSilicon: true },
      [['platform', 'needs a Mac with an Intel processor']],
    ],
    [
      'EraseDevice',
      { platform: 'iOS', accessRights: 8191 - 8 },
      [
        [
          'enrollment',
          'needs the access right AllowDeviceErase, which the enrollment profile does not grant',
        ],
      ],
    ],
  ])('are listed for %s on %j', (requestType, target, reasons) => {
    expect(targetFaults(requestType, target)).toEqual(
      reasons.map(([rule, detail]) => ({ rule, detail })),
    );
  });

  it.each<[string, Parameters<typeof targetFaults>[1]]>([
    ['ScheduleOSUpdate', { platform: 'iOS', osVersion: '26.4' }],
    ['EnableLostMode', { platform: 'iOS' }],
    ['SetRecoveryLock', { platform: 'macOS', osVersion: '14.0' }],
    ['EraseDevice', { osVersion: '1.0', supervised: false }],
    ['EraseDevice', { platform: 'iOS' }],
    ['EraseDevice', { platform: 'iOS', accessRights: 8 }],
    ['UserList', { platform: 'macOS', accessRights: 0 }],
    ['DeviceInformation', { platform: 'macOS', accessRights: 0 }],
    ['DisableRemoteDesktop', { platform: 'macOS', accessRights: 0 }],
  ])('do not exist for %s on %j', (requestType, target) => {
    expect(targetFaults(requestType, target)).toEqual([]);
  });
});

describe('choosing the DeviceInformation queries', () => {
  it('asks what iOS and macOS have in common while the platform is unknown', () => {
    expect(queriesFor()).toEqual([
      'UDID',
      'OrganizationInfo',
      'MDMOptions',
      'AwaitingConfiguration',
      'iTunesStoreAccountIsActive',
      'iTunesStoreAccountHash',
      'DeviceName',
      'OSVersion',
      'SupplementalOSVersionExtra',
      'BuildVersion',
      'SupplementalBuildVersion',
      'ModelName',
      'Model',
      'ModelNumber',
      'ProductName',
      'SerialNumber',
      'DeviceCapacity',
      'AvailableDeviceCapacity',
      'BatteryLevel',
      'IsSupervised',
      'IsActivationLockEnabled',
      'PushToken',
      'TimeZone',
      'BluetoothMAC',
      'WiFiMAC',
      'SoftwareUpdateDeviceID',
    ]);
  });

  it('asks each platform its own, as far as its version goes', () => {
    expect(queriesFor('macOS')).toEqual(expect.arrayContaining(['LocalHostName', 'EthernetMAC']));
    expect(queriesFor('macOS')).not.toContain('IMEI');
    expect(queriesFor('iOS')).toEqual(
      expect.arrayContaining(['IMEI', 'PhoneNumber', 'EASDeviceIdentifier']),
    );
    expect(queriesFor('iOS')).not.toContain('HostName');
    expect(queriesFor('tvOS')).toContain('DeviceID');
    expect(queriesFor('iOS', '11.3.1')).not.toContain('TimeZone');
    expect(queriesFor('iOS', '14.0')).toContain('TimeZone');
    expect(queriesFor('iOS', '4.3')).toContain('SIMCarrierNetwork');
    expect(queriesFor('iOS', '5.0')).not.toContain('SIMCarrierNetwork');
    expect(queriesFor('macOS', '10.10')).not.toContain('OSUpdateSettings');
    expect(queriesFor('macOS', '10.11')).toContain('OSUpdateSettings');
  });

  it('never asks for what makes the device act', () => {
    for (const platform of ['iOS', 'macOS', 'tvOS', 'visionOS', 'watchOS'] as const) {
      const queries = queriesFor(platform, undefined, { supervised: true });
      expect(queries).toContain('OSVersion');
      expect(queries).not.toContain('DevicePropertiesAttestation');
      expect(queries).not.toContain('EACSPreflight');
    }
  });

  it('asks supervised devices more, and can ask for that alone', () => {
    const plain = queriesFor('iOS', '17.0');
    expect(queriesFor('iOS', '17.0', { supervised: false })).toEqual(plain);
    expect(plain).not.toContain('AccessibilitySettings');
    const rest = queriesFor('iOS', '17.0', { supervised: true, supervisedOnly: true });
    expect(rest).toContain('AccessibilitySettings');
    const all = queriesFor('iOS', '17.0', { supervised: true });
    expect([...all].sort()).toEqual([...plain, ...rest].sort());
    expect(queriesFor('macOS', '14.0', { supervised: true, supervisedOnly: true })).toEqual([]);
  });

  it('asks a user enrollment nothing that is forbidden there', () => {
    const queries = queriesFor('iOS', '17.0', { userEnrollment: true });
    expect(queries).toEqual(expect.arrayContaining(['OSVersion', 'DeviceName']));
    expect(queries).not.toContain('UDID');
    expect(queries).not.toContain('SerialNumber');
  });
});

it('every access right in the schema has a bit', () => {
  const rights = requestTypes().flatMap((type) => {
    return describeCommand(type)?.platforms.flatMap(({ access_right }) => access_right ?? []) ?? [];
  });
  const unknown = new Set(rights.filter((name) => bitOfRight(name) === undefined));
  // Of DeviceInformation, whose queries have rights of their own.
  expect([...unknown]).toEqual(['Special Case']);
});
