import type { KeyPair } from '../../../src/crypto/keys/keys.js';
import { parseCsr } from '../../../src/crypto/x509/csr.js';
import type { LabPlatform } from '../../../src/lab/devices/device-models.js';
import { Random } from '../../../src/lab/devices/random.js';
import { createSimulatedDevice } from '../../../src/lab/devices/simulated-device.js';
import type { ScepSettings } from '../../../src/lab/enrollment/enrollment-profile.js';
import { buildDeviceCsr } from '../../../src/lab/pki/device-csr.js';
import { nextKeys } from '../../helpers/prepared-keys.js';

const createDevice = (platform: LabPlatform) =>
  createSimulatedDevice({ platform, random: new Random('scep request') });

describe('the certification request of a simulated device', () => {
  let keys: KeyPair;

  beforeAll(async () => {
    keys = await nextKeys();
  });

  function requestOf(device: ReturnType<typeof createDevice>, scep: Partial<ScepSettings>) {
    const settings = { url: 'https://mdm.example.org/scep', keySize: 2048, keyUsage: 5, ...scep };
    return parseCsr(buildDeviceCsr({ retries: 3, retryDelay: 10, ...settings }, device, keys));
  }

  const commonNameOf = (device: ReturnType<typeof createDevice>, commonName: string) =>
    requestOf(device, { subject: [[['CN', commonName]]] }).commonName;

  it('keeps variables unchanged on an iPhone', () => {
    const text = '%HardwareUUID% %SerialNumber% %ComputerName% %IMEI% %MEID%';
    expect(commonNameOf(createDevice('iOS'), text)).toBe(text);
  });

  it('keeps unknown variables unchanged on a Mac', () => {
    const text = '%IMEI% %constructor% %hardwareuuid% %AD_Domain% 100% %%';
    expect(commonNameOf(createDevice('macOS'), text)).toBe(text);
  });

  it('fills in every variable of a Mac', () => {
    const device = createDevice('macOS');
    const { udid, serialNumber, ethernetMac } = device.identity;
    device.deviceName = 'Reception';
    device.hostName = 'reception.example.com';
    expect(commonNameOf(device, '%HardwareUUID%')).toBe(udid);
    expect(commonNameOf(device, 'Mac.%SerialNumber%')).toBe(`Mac.${serialNumber}`);
    expect(commonNameOf(device, '%ComputerName% (%HostName%)')).toBe(
      'Reception (reception.example.com)',
    );
    expect(commonNameOf(device, '%LocalHostName%/%MACAddress%')).toBe(`reception/${ethernetMac}`);
  });

  it('fills in every attribute of the subject and the alternative names', () => {
    const device = createDevice('macOS');
    const { udid, serialNumber } = device.identity;
    const { subject, subjectAltNames } = requestOf(device, {
      subject: [[['O', 'Example']], [['OU', '%SerialNumber%']], [['CN', '%HardwareUUID%']]],
      subjectAltName: { uniformResourceIdentifier: 'urn:device:%HardwareUUID%' },
    });
    expect(subject.split(',').sort()).toEqual(
      [`CN=${udid}`, 'O=Example', `OU=${serialNumber}`].sort(),
    );
    expect(subjectAltNames).toEqual([{ type: 'uri', value: `urn:device:${udid}` }]);
  });
});
