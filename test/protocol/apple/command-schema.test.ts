import type { ErrorDetail } from '../../../src/errors.js';
import {
  jsonToPlist,
  requestTypes,
  validateCommand,
} from '../../../src/protocol/apple/command-schema.js';
import { isPlistDict, parsePlistDict } from '../../../src/protocol/plist/plist.js';
import { fixture } from '../plist/plist-fixtures.js';

const PARAMETERS = '/data/attributes/parameters';

/** Pointers, below the parameters, and details. */
function pointersAndDetails(faults: ErrorDetail[]): string[] {
  return faults.map(({ detail, source }) => {
    const pointer = source?.pointer ?? '';
    return `${pointer.startsWith(PARAMETERS) ? pointer.slice(PARAMETERS.length) : pointer}: ${detail}`;
  });
}

function faultsOf(requestType: string, json: unknown): string[] {
  return pointersAndDetails(jsonToPlist(requestType, json).faults);
}

describe("checking commands against Apple's schema", () => {
  it('refuses a request type Apple does not list', () => {
    const expected = [
      {
        detail:
          "'DeviceInfo' is not a request type of Apple's; the nearest of 68 known ones: DeviceInformation, " +
          'DeviceLock, SecurityInfo, DeleteUser, DeviceLocation (GET /api/v1/command_types lists all)',
        source: { pointer: '/data/attributes/request_type' },
      },
    ];
    expect(validateCommand('DeviceInfo', {})).toEqual(expected);
    expect(jsonToPlist('DeviceInfo', {}).faults).toEqual(expected);
    expect(validateCommand('constructor', {})).toHaveLength(1);
  });

  it.each([[[]], ['text'], [7]])('refuses %j as parameters', (json) => {
    expect(faultsOf('DeviceLock', json)).toEqual([': parameters must be an object']);
  });

  it.each<[string, unknown, string[]]>([
    ['DeviceLock', { Pin: '1' }, ["/Pin: Pin is not a key Apple's schema lists here"]],
    [
      'DeviceLock',
      { RequestType: 'x' },
      ["/RequestType: RequestType is not a key Apple's schema lists here"],
    ],
    ['DeviceLock', { 'a/b~c': 1 }, ["/a~1b~0c: a/b~c is not a key Apple's schema lists here"]],
    ['DeviceLock', { PIN: 123456 }, ['/PIN: PIN must be a string']],
    ['DeviceLock', { PIN: null }, ['/PIN: PIN must not be null']],
    [
      'DeviceLock',
      { Message: 'a\0' },
      ['/Message: Message has a character property lists cannot hold'],
    ],
    ['RemoveProfile', {}, ['/Identifier: Identifier is required']],
    ['RemoveProfile', undefined, ['/Identifier: Identifier is required']],
    ['RemoveProfile', { Identifier: null }, ['/Identifier: Identifier must not be null']],
    ['InstallProfile', { Payload: 'no base64!' }, ['/Payload: Payload must be data in base64']],
    ['InstallProfile', { Payload: {} }, ['/Payload: Payload must be data in base64']],
    ['RestartDevice', { NotifyUser: 'yes' }, ['/NotifyUser: NotifyUser must be a boolean']],
    ['RestartDevice', { KextPaths: 'x' }, ['/KextPaths: KextPaths must be an array']],
    [
      'RestartDevice',
      { KextPaths: ['x', 1] },
      ['/KextPaths/1: an element of KextPaths must be a string'],
    ],
    [
      'InstallApplication',
      { iTunesStoreID: 1.5 },
      ['/iTunesStoreID: iTunesStoreID must be an integer'],
    ],
    [
      'InstallApplication',
      { ManagementFlags: 2 },
      ['/ManagementFlags: ManagementFlags must be one of 1, 4, 5'],
    ],
    ['InstallApplication', { Options: [] }, ['/Options: Options must be an object']],
    [
      'InstallApplication',
      { Options: { PurchaseMethod: 3, Other: true } },
      [
        '/Options/PurchaseMethod: PurchaseMethod must be one of 0, 1',
        "/Options/Other: Other is not a key Apple's schema lists here",
      ],
    ],
    [
      'DeviceInformation',
      { Queries: ['UDID', 'ShoeSize'] },
      ["/Queries/1: an element of Queries must be one of the values Apple's schema lists"],
    ],
    ['DeviceInformation', {}, ['/Queries: Queries is required']],
    ['EraseDevice', { ReturnToService: {} }, ['/ReturnToService/Enabled: Enabled is required']],
    [
      'ScheduleOSUpdate',
      { Updates: [{ InstallAction: 'Now' }, 'x'] },
      [
        '/Updates/0/InstallAction: InstallAction must be one of Default, DownloadOnly, InstallASAP, NotifyOnly, InstallLater, InstallForceRestart',
        '/Updates/1: an element of Updates must be an object',
      ],
    ],
    ['Settings', { Settings: ['x'] }, ['/Settings/0: Settings holds objects']],
    ['Settings', { Settings: [null] }, ['/Settings/0: 0 must not be null']],
    [
      'Settings',
      { Settings: [null, { Item: 'DeviceName' }] },
      ['/Settings/0: 0 must not be null', '/Settings/1/DeviceName: DeviceName is required'],
    ],
    [
      'Settings',
      { Settings: [{ Item: 'DeviceName' }, { Item: 'HostName', DeviceName: 'x', HostName: 'y' }] },
      [
        '/Settings/0/DeviceName: DeviceName is required',
        "/Settings/1/DeviceName: DeviceName is not a key Apple's schema lists here",
      ],
    ],
  ])('finds every fault of %s with %j', (requestType, json, expected) => {
    expect(faultsOf(requestType, json)).toEqual(expected);
  });

  it('lists the kinds of settings when an element matches none', () => {
    const [only, ...rest] = faultsOf('Settings', { Settings: [{ Item: 'Colour' }] });
    expect(rest).toEqual([]);
    expect(only).toMatch(/^\/Settings\/0\/Item: Item must be one of Wallpaper, DataRoaming, /);
  });

  it('refuses more than 20,000 values at once', () => {
    const parameters = (count: number) => ({ Identifiers: Array(count).fill('com.example') });
    expect(faultsOf('InstalledApplicationList', parameters(19_998))).toEqual([]);
    expect(faultsOf('InstalledApplicationList', parameters(500_000))).toEqual([
      expect.stringContaining('parameters hold more than 20000 values'),
    ]);
  });

  it('refuses deep nesting where any key is allowed', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`) as unknown;
    const [only] = faultsOf('InstallApplication', { Identifier: 'x', Configuration: deep });
    expect(only).toMatch(/a is nested too deep$/);
  });

  it('accepts what Apple allows', () => {
    const settings = [
      { Item: 'DeviceName', DeviceName: 'Ada' },
      {
        Item: 'ApplicationConfiguration',
        Identifier: 'x',
        Configuration: { any: [1, { thing: 'y' }] },
      },
    ];
    expect(faultsOf('Settings', { Settings: settings })).toEqual([]);
    expect(faultsOf('DeviceInformation', { Queries: ['UDID', 'OSVersion'] })).toEqual([]);
    expect(faultsOf('CertificateList', null)).toEqual([]);
    expect(faultsOf('ShutDownDevice', {})).toEqual([]);
    expect(requestTypes()).toHaveLength(68);
    const bare = requestTypes().filter((type) => validateCommand(type, {}).length === 0);
    expect(bare).toHaveLength(42);
  });

  it('accepts a captured command', () => {
    const { Command } = parsePlistDict(fixture('command/InstallProfile.plist'));
    const { RequestType, ...parameters } = isPlistDict(Command) ? Command : {};
    expect(RequestType).toBe('InstallProfile');
    expect(validateCommand('InstallProfile', parameters)).toEqual([]);
  });
});

describe('turning JSON parameters into plist values', () => {
  it('converts base64 to data only where the schema has data', () => {
    const json = { UserName: 'aGVsbG8=' };
    expect(jsonToPlist('DeleteUser', json).value).toEqual(json);
    const { value, faults } = jsonToPlist('InstallProfile', { Payload: 'aGVs\nbG8=' });
    expect(faults).toEqual([]);
    expect(value).toEqual({ Payload: Buffer.from('hello') });
  });

  it('converts members of arrays and objects', () => {
    const certificates = ['AQID', 'BAUG'];
    const enterprise = {
      ManifestURLPinningCerts: certificates,
      Manifest: { items: ['AQID', 1.5] },
    };
    expect(jsonToPlist('InstallEnterpriseApplication', enterprise).value).toEqual({
      ManifestURLPinningCerts: [Buffer.from([1, 2, 3]), Buffer.from([4, 5, 6])],
      Manifest: { items: ['AQID', 1.5] },
    });
    const wallpaper = { Item: 'Wallpaper', Image: 'AQID', Where: 1 };
    expect(jsonToPlist('Settings', { Settings: [wallpaper] })).toEqual({
      value: { Settings: [{ ...wallpaper, Image: Buffer.from([1, 2, 3]) }] },
      faults: [],
    });
  });

  it('keeps a key named __proto__ a key', () => {
    const json = JSON.parse('{"Configuration": {"__proto__": {"a": 1}}}') as unknown;
    const { value, faults } = jsonToPlist('InstallApplication', json);
    expect(faults).toEqual([]);
    expect(JSON.stringify(value)).toBe('{"Configuration":{"__proto__":{"a":1}}}');
  });
});
