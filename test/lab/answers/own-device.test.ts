import { executeCommand } from '../../../src/lab/answers/commands.js';
import type { LabPlatform } from '../../../src/lab/devices/device-models.js';
import { Random } from '../../../src/lab/devices/random.js';
import {
  createSimulatedDevice,
  type SimulatedDevice,
} from '../../../src/lab/devices/simulated-device.js';
import { deviceAttributes, machineInfo } from '../../../src/lab/enrollment/device-info.js';
import { authenticateMessage, tokenUpdateMessage } from '../../../src/lab/wire/messages.js';
import { parsePlistDict } from '../../../src/protocol/plist/plist.js';

const ENROLLMENT_ID = '1F0B5B5C-64A4-4B1C-9C1E-0D5C7E4B2A11';

function ownDevice(platform: LabPlatform): SimulatedDevice {
  const random = new Random('a device of somebody');
  const device = createSimulatedDevice({ platform, random, isSupervised: false });
  device.enrollmentId = ENROLLMENT_ID;
  return device;
}

/** The values that identify it. */
function identifiersOf({ identity }: SimulatedDevice): string[] {
  const { udid, serialNumber, imei, meid, wifiMac, ethernetMac, bluetoothMac } = identity;
  return [udid, serialNumber, imei, meid, wifiMac, ethernetMac, bluetoothMac];
}

describe.each(['iOS', 'macOS'] as const)('a person’s own device, %s', (platform) => {
  const device = ownDevice(platform);

  it.each([
    ['Authenticate', () => authenticateMessage(device, 'topic')],
    ['TokenUpdate', () => tokenUpdateMessage(device, 'topic')],
  ])(
    'identifies itself by its EnrollmentID in %s and sends nothing else that identifies it',
    (_name, write) => {
      const message = write();
      expect(parsePlistDict(message).EnrollmentID).toBe(ENROLLMENT_ID);
      for (const text of identifiersOf(device)) expect(message.toString()).not.toContain(text);
      expect(parsePlistDict(message)).not.toHaveProperty('UnlockToken');
    },
  );

  it('signs nothing that identifies it', () => {
    const attributes = ['UDID', 'SERIAL', 'IMEI', 'MEID', 'PRODUCT'];
    const signed = [
      machineInfo(device),
      deviceAttributes(device, { attributes, challenge: undefined }),
    ];
    for (const bytes of signed) {
      const { PRODUCT, UDID, SERIAL } = parsePlistDict(bytes);
      expect([PRODUCT, UDID, SERIAL]).toEqual([
        device.identity.model.productName,
        undefined,
        undefined,
      ]);
      for (const text of identifiersOf(device)) expect(bytes.toString()).not.toContain(text);
    }
  });

  it('answers DeviceInformation without what identifies it', () => {
    const Queries = ['UDID', 'SerialNumber', 'IMEI', 'WiFiMAC', 'OSVersion'];
    const answer = executeCommand(device, { RequestType: 'DeviceInformation', Queries });
    expect(answer).toEqual({
      status: 'Acknowledged',
      body: { QueryResponses: { OSVersion: device.identity.release.version } },
    });
  });

  it.each(['EraseDevice', 'ClearPasscode', 'RestartDevice', 'EnableLostMode'])(
    'does not execute %s',
    (RequestType) => {
      expect(executeCommand(device, { RequestType }).status).toBe('Error');
      expect(device.isErased).toBe(false);
    },
  );
});
