import { checkJsonParameters } from '../../src/commands/payload.js';
import { isValid } from '../../src/commands/value-faults.js';
import { buildPlist, type PlistDict } from '../../src/protocol/plist/plist.js';
import { ecIdentity } from '../crypto/identities.js';

const HASH = { entropy: Buffer.alloc(128, 1), iterations: 30_000, salt: Buffer.alloc(32, 2) };

function pointersOf(requestType: string, parameters: object, options = {}) {
  const { faults } = checkJsonParameters(requestType, parameters, options);
  return faults.map(({ source }) => source?.pointer?.slice('/data/attributes/parameters'.length));
}

function inBase64(dict: PlistDict): string {
  return buildPlist(dict).toString('base64');
}

describe('the hash of a password', () => {
  const pointers = (passwordHash: string) =>
    pointersOf('SetAutoAdminPassword', { GUID: 'G', passwordHash });

  it('is what Apple describes: a property list with entropy, salt and iterations', () => {
    expect(pointers(inBase64({ 'SALTED-SHA512-PBKDF2': HASH }))).toEqual([]);
    // Of {"SALTED-SHA512-PBKDF2": {"entropy": 01, "iterations": 1, "salt": 02}}, as a binary property list.
    const binary =
      'YnBsaXN0MDDRAQJfEBRTQUxURUQtU0hBNTEyLVBCS0RGMtMDBAUGBwhXZW50cm9weVppdGVyYXRpb25zVHNhbHRBARABQQI' +
      'ICyIpMTxBQ0UAAAAAAAABAQAAAAAAAAAJAAAAAAAAAAAAAAAAAAAARw==';
    expect(pointers(binary)).toEqual([]);
  });

  it.each([
    ['bytes that are no property list', 'AAAA'],
    ['no bytes', ''],
    ['another dictionary', inBase64({ SHA512: HASH })],
    ['a text', inBase64({ 'SALTED-SHA512-PBKDF2': 'hash' })],
    ['no salt', inBase64({ 'SALTED-SHA512-PBKDF2': { ...HASH, salt: Buffer.alloc(0) } })],
    ['a text as entropy', inBase64({ 'SALTED-SHA512-PBKDF2': { ...HASH, entropy: 'e' } })],
    ['no iterations', inBase64({ 'SALTED-SHA512-PBKDF2': { ...HASH, iterations: 0 } })],
  ])('is not %s', (_what, passwordHash) => {
    expect(pointers(passwordHash)).toEqual(['/passwordHash']);
  });

  it('is checked for each account of AccountConfiguration', () => {
    const account = { shortName: 'admin' };
    const AutoSetupAdminAccounts = [account, { ...account, passwordHash: 'AAAA' }];
    expect(pointersOf('AccountConfiguration', { AutoSetupAdminAccounts })).toEqual([
      '/AutoSetupAdminAccounts/1/passwordHash',
    ]);
  });
});

describe('a key that names something', () => {
  it.each([
    ['RemoveProfile', 'Identifier'],
    ['RemoveProvisioningProfile', 'UUID'],
    ['RemoveApplication', 'Identifier'],
    ['InstallApplication', 'Identifier'],
    ['UnlockUserAccount', 'UserName'],
    ['DeleteUser', 'UserName'],
    ['ClearPasscode', 'UnlockToken'],
  ])('is not empty in %s: %s', (requestType, key) => {
    const blank = key === 'UnlockToken' ? '' : ' \t';
    for (const value of ['', blank]) {
      const { faults } = checkJsonParameters(requestType, { [key]: value });
      expect(faults.length).toBe(1);
    }
    expect(pointersOf(requestType, { [key]: 'QUJD' })).toEqual([]);
  });

  it('is not empty in a list of names, nor in a setting', () => {
    expect(pointersOf('ManagedApplicationList', { Identifiers: ['com.example.app', ' '] })).toEqual(
      ['/Identifiers/1'],
    );
    const Settings = [
      { Item: 'Bluetooth', Enabled: true },
      { Item: 'ApplicationConfiguration', Identifier: '', Configuration: { Identifier: '' } },
    ];
    expect(pointersOf('Settings', { Settings })).toEqual(['/Settings/1/Identifier']);
    for (const setting of [{ DeviceName: ' ' }, { HostName: '' }]) {
      const [name = ''] = Object.keys(setting);
      const named = { Settings: [{ Item: name, ...setting }] };
      expect(pointersOf('Settings', named)).toEqual([`/Settings/0/${name}`]);
    }
    const kernel = { RebuildKernelCache: true, KextPaths: [''] };
    expect(pointersOf('RestartDevice', kernel)).toEqual(['/KextPaths/0']);
  });

  it.each([
    ['Settings', 'Settings'],
    ['DeviceInformation', 'Queries'],
    ['ScheduleOSUpdate', 'Updates'],
  ])('is what %s has at least one of in %s', (requestType, key) => {
    expect(pointersOf(requestType, { [key]: [] })).toEqual([`/${key}`]);
  });

  it('is no password, which is cleared by an empty one', () => {
    expect(pointersOf('SetRecoveryLock', { NewPassword: '' })).toEqual([]);
  });
});

describe('the profile of InstallProfile', () => {
  it('has the faults of an upload, each with its place in the profile', () => {
    const profile = {
      PayloadType: 'Configuration',
      PayloadVersion: 1,
      PayloadIdentifier: 5,
      PayloadUUID: 'A',
      PayloadContent: 'x',
    };
    const { faults } = checkJsonParameters('InstallProfile', { Payload: inBase64(profile) });
    const source = { pointer: '/data/attributes/parameters/Payload' };
    const detail = 'PayloadIdentifier must be a string that is not empty';
    expect(faults).toEqual([
      { detail: `Payload, at /PayloadIdentifier: ${detail}`, source },
      {
        detail: 'Payload, at /PayloadContent: PayloadContent must be an array of payloads',
        source,
      },
    ]);
  });
});

describe('the certificate to which a Mac encrypts its new recovery key', () => {
  const pointers = (certificate: Buffer) =>
    pointersOf('RotateFileVaultKey', {
      KeyType: 'personal',
      FileVaultUnlock: { Password: 'p' },
      ReplyEncryptionCertificate: certificate.toString('base64'),
    });

  it('is one in DER', async () => {
    expect(pointers((await ecIdentity('P-256')).certificate.der)).toEqual([]);
    expect(pointers(Buffer.alloc(3))).toEqual(['/ReplyEncryptionCertificate']);
    expect(pointers(Buffer.alloc(0))).toEqual(['/ReplyEncryptionCertificate']);
  });
});

describe('an update of ScheduleOSUpdate', () => {
  it('has to be named by its key or its version', () => {
    const pointers = (...Updates: object[]) => pointersOf('ScheduleOSUpdate', { Updates });
    const InstallAction = 'Default';
    const named = { ProductKey: 'iOSUpdate22B91', InstallAction };
    expect(pointers(named, { InstallAction })).toEqual(['/Updates/1']);
    expect(pointers(named, { ProductVersion: '18.1.1', InstallAction })).toEqual([]);
  });

  it('has a version of numbers, or a variable where each device gets its own', () => {
    const updates = (ProductVersion: string) => ({
      Updates: [{ ProductVersion, InstallAction: 'Default' }],
    });
    for (const version of ['18', '18.1', '18.1.1']) {
      expect(pointersOf('ScheduleOSUpdate', updates(version))).toEqual([]);
    }
    for (const version of ['99.x', 'latest', '18.', '$SERIALNUMBER']) {
      expect(pointersOf('ScheduleOSUpdate', updates(version))).toEqual([
        '/Updates/0/ProductVersion',
      ]);
    }
    const options = { mayHaveVariables: true };
    expect(pointersOf('ScheduleOSUpdate', updates('$ATTRIBUTE_next'), options)).toEqual([]);
  });

  it('is deferred no negative number of times', () => {
    const update = { ProductKey: 'a', InstallAction: 'InstallLater' };
    const pointers = (MaxUserDeferrals: number) =>
      pointersOf('ScheduleOSUpdate', { Updates: [{ ...update, MaxUserDeferrals }] });
    expect(pointers(0)).toEqual([]);
    expect(pointers(-1)).toEqual(['/Updates/0/MaxUserDeferrals']);
  });
});

describe('the password of an account of AccountConfiguration', () => {
  it('is refused for all but the first account, with the reason', () => {
    const account = {
      shortName: 'admin',
      passwordHash: inBase64({ 'SALTED-SHA512-PBKDF2': HASH }),
    };
    const AutoSetupAdminAccounts = [account, { ...account, password: 'correct horse' }];
    expect(checkJsonParameters('AccountConfiguration', { AutoSetupAdminAccounts }).faults).toEqual([
      expect.objectContaining({
        detail:
          'only the password of the first account is taken; name the passwordHash of the others',
        source: { pointer: '/data/attributes/parameters/AutoSetupAdminAccounts/1/password' },
      }),
    ]);
  });
});

describe('a time zone', () => {
  const settings = (TimeZone: string) => ({ Settings: [{ Item: 'TimeZone', TimeZone }] });

  it.each(['Europe/Berlin', 'America/Argentina/Buenos_Aires', 'US/Pacific', 'UTC'])(
    'may be %s',
    (zone) => {
      expect(pointersOf('Settings', settings(zone))).toEqual([]);
    },
  );

  it.each(['Mars/Olympus', '', '+01:00', 'Berlin', '$ATTRIBUTE_zone'])('is not %j', (zone) => {
    expect(pointersOf('Settings', settings(zone))).toEqual(['/Settings/0/TimeZone']);
    expect(isValid('Settings', settings(zone))).toBe(false);
  });

  it('may be a variable where each device gets its own', () => {
    const options = { mayHaveVariables: true };
    expect(pointersOf('Settings', settings('$ATTRIBUTE_zone'), options)).toEqual([]);
    expect(pointersOf('Settings', settings('Mars/Olympus'), options)).toEqual([
      '/Settings/0/TimeZone',
    ]);
  });
});

describe('an address', () => {
  it.each([
    ['InviteToProgram', { ProgramID: 'com.apple.cloudvpp' }, 'InvitationURL'],
    ['InstallMedia', { MediaType: 'Book' }, 'MediaURL'],
    ['RefreshCellularPlans', {}, 'eSIMServerURL'],
  ])('of %s is a URL of http or https', (requestType, others, key) => {
    const pointers = (url: string, options = {}) =>
      pointersOf(requestType, { ...others, [key]: url }, options);
    expect(pointers('https://mdm.example.org/file')).toEqual([]);
    expect(pointers('http://mdm.example.org/file')).toEqual([]);
    for (const url of ['somewhere', 'mdm.example.org', 'ftp://mdm.example.org', 'https://', ' ']) {
      expect([url, pointers(url)]).toEqual([url, [`/${key}`]]);
    }
    expect(pointers('$ATTRIBUTE_url')).toEqual([`/${key}`]);
    expect(pointers('$ATTRIBUTE_url', { mayHaveVariables: true })).toEqual([]);
  });

  it.each(['InstallApplication', 'InstallEnterpriseApplication'])(
    'of the manifest of %s is one of https',
    (requestType) => {
      const pointers = (ManifestURL: string) => pointersOf(requestType, { ManifestURL });
      expect(pointers('https://mdm.example.org/app.plist')).toEqual([]);
      expect(pointers('http://mdm.example.org/app.plist')).toEqual(['/ManifestURL']);
    },
  );
});
