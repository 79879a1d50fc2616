import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { executeCommand, executeUserCommand } from '../../../src/lab/answers/commands.js';
import type { LabPlatform } from '../../../src/lab/devices/device-models.js';
import { Random } from '../../../src/lab/devices/random.js';
import {
  createSimulatedDevice,
  type SimulatedDevice,
} from '../../../src/lab/devices/simulated-device.js';
import {
  commandAllowed,
  requestTypes,
  validateCommand,
} from '../../../src/protocol/apple/command-schema.js';
import { commandItem } from '../../../src/protocol/apple/command-target.js';
import { buildPlist, type PlistDict } from '../../../src/protocol/plist/plist.js';

const REMOVED_WITH_27 = [
  'AvailableOSUpdates',
  'OSUpdateStatus',
  'ScheduleOSUpdate',
  'ScheduleOSUpdateScan',
];
const NEW_WITH_27 = ['CancelEnhancedLogCollection', 'TriggerEnhancedLogCollection'];

interface Kind {
  platform: LabPlatform;
  /** Macs only. */
  isSilicon?: boolean;
  isShared?: boolean;
  channel?: 'device' | 'user';
  osVersion: string;
}

function deviceOf({ platform, isSilicon = false, isShared = false, osVersion }: Kind) {
  const wanted = platform === 'iOS' ? 'iPad' : '';
  for (let attempt = 0; ; attempt += 1) {
    const random = new Random(`every command ${attempt}`);
    const device = createSimulatedDevice({ platform, random, isShared, isSupervised: true });
    const { model } = device.identity;
    const fits = platform === 'iOS' || (model.chip !== undefined) === isSilicon;
    if (fits && model.modelName.startsWith(wanted)) {
      device.identity.release = { version: osVersion, build: '22A1' };
      return device;
    }
  }
}

const profile = buildPlist({
  PayloadType: 'Configuration',
  PayloadIdentifier: 'com.example.profile',
  PayloadUUID: '5D1C7E5C-3C4D-4E1A-B9C3-0C6E4C7A6B11',
  PayloadVersion: 1,
  PayloadContent: [],
});

const APP = 'com.example.app';
const PROVISIONING_UUID = '7A3B0E55-8E58-4B51-9F53-0E8E9F0F7A12';
const PROVISIONING = buildPlist({ UUID: PROVISIONING_UUID, Name: 'In-house apps' });
const BOOK = { MediaType: 'Book', iTunesStoreID: 709_330_271 };

/** What goes before, for a command that needs something to be there. */
const BEFORE: Record<string, PlistDict> = {
  RemoveProfile: { RequestType: 'InstallProfile', Payload: profile },
  RemoveApplication: { RequestType: 'InstallApplication', Identifier: APP },
  RemoveMedia: { RequestType: 'InstallMedia', ...BOOK },
  RemoveProvisioningProfile: {
    RequestType: 'InstallProvisioningProfile',
    ProvisioningProfile: PROVISIONING,
  },
  DeviceLocation: { RequestType: 'EnableLostMode', Message: 'Lost' },
};

/** Valid parameters of the commands that need some. */
function parametersFor(requestType: string, device: SimulatedDevice): PlistDict {
  const parameters: Record<string, PlistDict> = {
    ApplyRedemptionCode: { Identifier: APP, RedemptionCode: 'ABCDEF' },
    ClearPasscode: { UnlockToken: device.unlockToken ?? Buffer.alloc(1) },
    DeleteUser: { UserName: device.user?.shortName ?? '' },
    DeviceInformation: { Queries: ['OSVersion'] },
    EnableLostMode: { Message: 'Lost' },
    InstallApplication: { Identifier: APP },
    InstallEnterpriseApplication: { ManifestURL: 'https://example.com/app.plist' },
    InstallMedia: BOOK,
    InstallProfile: { Payload: profile },
    InstallProvisioningProfile: { ProvisioningProfile: PROVISIONING },
    InviteToProgram: {
      ProgramID: 'com.apple.cloudvpp',
      InvitationURL: 'https://example.com/invitation',
    },
    LOMDeviceRequest: {
      RequestList: [
        {
          DeviceRequestType: 'PowerON',
          DeviceRequestUUID: PROVISIONING_UUID,
          DeviceDNSName: 'lab.example.com',
          PrimaryIPv6AddressList: ['fe80::1'],
          SecondaryIPv6AddressList: [],
          LOMProtocolVersion: 1,
        },
      ],
    },
    ManagedApplicationAttributes: { Identifiers: [APP] },
    ManagedApplicationConfiguration: { Identifiers: [APP] },
    ManagedApplicationFeedback: { Identifiers: [APP] },
    RefreshCellularPlans: { eSIMServerURL: 'https://example.com' },
    RemoveApplication: { Identifier: APP },
    RemoveMedia: { MediaType: 'Book', iTunesStoreID: '709330271' },
    RemoveProfile: { Identifier: 'com.example.profile' },
    RemoveProvisioningProfile: { UUID: PROVISIONING_UUID },
    RotateFileVaultKey: {
      KeyType: 'personal',
      FileVaultUnlock: { Password: device.recoveryKey.text },
    },
    ScheduleOSUpdate: {
      Updates: [{ ProductVersion: '18.1.1', InstallAction: 'InstallASAP' }],
    },
    SetAutoAdminPassword: {
      GUID: PROVISIONING_UUID,
      passwordHash: Buffer.from('hash'),
    },
    SetFirmwarePassword: { NewPassword: 'open' },
    SetRecoveryLock: { NewPassword: 'open' },
    Settings: { Settings: [] },
    TriggerEnhancedLogCollection: { AppleCareToken: 'token' },
    UnlockUserAccount: { UserName: device.user?.shortName ?? '' },
    VerifyFirmwarePassword: { Password: 'open' },
    VerifyRecoveryLock: { Password: 'open' },
  };
  return parameters[requestType] ?? {};
}

function execute(kind: Kind, requestType: string) {
  const device = deviceOf(kind);
  const send = (command: PlistDict) => {
    const { user } = device;
    if (kind.channel !== 'user' || user === undefined) return executeCommand(device, command);
    return executeUserCommand({ device, user }, command);
  };
  if (requestType === 'DeleteUser' && device.user !== undefined) device.user.isLoggedIn = false;
  const before = BEFORE[requestType];
  if (before !== undefined) send(before);
  const parameters = parametersFor(requestType, device);
  expect([requestType, validateCommand(requestType, parameters)]).toEqual([requestType, []]);
  return send({ RequestType: requestType, ...parameters });
}

/** Request types by what becomes of them; each acknowledged one has the keys that Apple requires. */
function outcomes(kind: Kind) {
  const answered: string[] = [];
  const refused: string[] = [];
  for (const requestType of requestTypes()) {
    const answer = execute(kind, requestType);
    if (answer.status === 'Acknowledged') {
      answered.push(requestType);
      const required = (commandItem(requestType)?.response ?? [])
        .filter(({ presence }) => presence === 'required')
        .map(({ key }) => key);
      expect([requestType, Object.keys(answer.body)]).toEqual([
        requestType,
        expect.arrayContaining(required),
      ]);
    } else {
      expect([requestType, answer]).toEqual([
        requestType,
        {
          status: 'Error',
          errors: [
            {
              domain: 'MCMDMErrorDomain',
              code: 12_021,
              message: `“${requestType}” is not a valid request type.`,
            },
          ],
        },
      ]);
      refused.push(requestType);
    }
  }
  return { answered, refused };
}

/** Request types of docs/lab.md that simulated devices do not answer. */
function documentedRefusals(): string[] {
  const page = readFileSync(join(__dirname, '../../../docs/lab.md'), 'utf8');
  const table = /^## .*does not answer\n([^#]+)/m.exec(page)?.[1] ?? '';
  return [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => name);
}

const IPHONE: Kind = { platform: 'iOS', osVersion: '18.1' };
const SHARED: Kind = { platform: 'iOS', isShared: true, osVersion: '18.1' };
const SILICON: Kind = { platform: 'macOS', isSilicon: true, osVersion: '15.1' };
const INTEL: Kind = { platform: 'macOS', osVersion: '15.1' };

const KINDS: Kind[] = [
  IPHONE,
  SHARED,
  { ...SHARED, channel: 'user' as const },
  SILICON,
  { ...SILICON, channel: 'user' as const },
  INTEL,
].flatMap((kind) => [kind, { ...kind, osVersion: '27.0' }]);

/** What the device refuses although Apple's schema has it for such a device. */
function neverAnswered(kind: Kind): string[] {
  const { platform, isSilicon = false, isShared = false, channel = 'device', osVersion } = kind;
  const target = { platform, osVersion, channel, supervised: true, sharedIpad: isShared };
  return outcomes(kind).refused.filter(
    (requestType) =>
      // For users only, but `commandAllowed` excludes nothing from the device channel of iOS.
      (requestType !== 'UserConfigured' || channel === 'user') &&
      commandAllowed(requestType, { ...target, appleSilicon: isSilicon }),
  );
}

describe('simulated devices', () => {
  it('answer every command that Apple has for them, but those that docs/lab.md lists', () => {
    const never = new Set(KINDS.flatMap(neverAnswered));
    expect([...never].sort()).toEqual(documentedRefusals());
  });

  it.each([
    ['iOS', SHARED],
    ['macOS', SILICON],
  ])('with %s 27 know no more updates by command', (_platform, kind) => {
    const before = outcomes(kind).answered;
    const after = outcomes({ ...kind, osVersion: '27.0' }).answered;
    const gone = before.filter((requestType) => !after.includes(requestType));
    const isForMacs = (requestType: string) => requestType !== 'ScheduleOSUpdateScan';
    expect(gone).toEqual(kind === SILICON ? REMOVED_WITH_27 : REMOVED_WITH_27.filter(isForMacs));
    const added = after.filter((requestType) => !before.includes(requestType));
    expect(added).toEqual(kind === SILICON ? [] : NEW_WITH_27);
  });
});
