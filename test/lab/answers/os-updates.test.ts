import type { SimulatedDevice } from '../../../src/lab/devices/simulated-device.js';
import type { PlistDict } from '../../../src/protocol/plist/plist.js';
import { answerOf, createDevice, createMac, firstError } from './device-under-test.js';

function availableTo(device: SimulatedDevice): PlistDict[] {
  return answerOf(device, { RequestType: 'AvailableOSUpdates' }).AvailableOSUpdates as PlistDict[];
}

function schedule(device: SimulatedDevice, update: PlistDict): PlistDict | undefined {
  const report = answerOf(device, { RequestType: 'ScheduleOSUpdate', Updates: [update] });
  return (report.UpdateResults as PlistDict[])[0];
}

function statusOf(device: SimulatedDevice): PlistDict[] {
  return answerOf(device, { RequestType: 'OSUpdateStatus' }).OSUpdateStatus as PlistDict[];
}

/** Of a model that runs the newest major version. */
function newestPhone(): SimulatedDevice {
  const device = createDevice('iOS');
  device.identity.model = { ...device.identity.model, majors: [16, 18] };
  device.identity.release = { version: '18.1', build: '22B83' };
  return device;
}

describe('a simulated iPhone before OS 27', () => {
  it('lists one update, even with the newest release of the lab', () => {
    const [update, ...others] = availableTo(newestPhone());
    expect(others).toEqual([]);
    expect(update).toMatchObject({ ProductKey: 'iOSUpdate22B91', Version: '18.1.1' });
  });

  it('answers what it does with each update, and shows it in OSUpdateStatus from then on', () => {
    const phone = newestPhone();
    const ProductKey = 'iOSUpdate22B91';
    expect(statusOf(phone)).toEqual([]);
    expect(schedule(phone, { ProductKey, InstallAction: 'Default' })).toEqual({
      ProductKey,
      InstallAction: 'DownloadOnly',
      Status: 'Downloading',
    });
    const downloaded = { ProductKey, IsDownloaded: true, DownloadPercentComplete: 1 };
    expect(statusOf(phone)).toEqual([{ ...downloaded, Status: 'Idle' }]);
    expect(schedule(phone, { ProductVersion: '18.1.1', InstallAction: 'Default' })).toEqual({
      ProductKey,
      InstallAction: 'InstallASAP',
      Status: 'Installing',
    });
    expect(statusOf(phone)).toEqual([{ ...downloaded, Status: 'Installing' }]);
  });

  it('refuses an update that it does not list', () => {
    const phone = newestPhone();
    const update = { ProductKey: 'iOSUpdate1A1', InstallAction: 'InstallASAP' };
    const message = 'The update is not available for this device.';
    expect(schedule(phone, update)).toEqual({
      ProductKey: 'iOSUpdate1A1',
      InstallAction: 'Error',
      Status: 'Idle',
      ErrorChain: [
        {
          ErrorCode: 12_008,
          ErrorDomain: 'MCMDMErrorDomain',
          LocalizedDescription: message,
          USEnglishDescription: message,
        },
      ],
    });
    expect(statusOf(phone)).toEqual([]);
  });

  it('does not understand a command that names no update', () => {
    const Updates = [{ InstallAction: 'Default' }];
    const report = answerOf(newestPhone(), { RequestType: 'ScheduleOSUpdate', Updates });
    expect([report.Status, report.UpdateResults]).toEqual(['CommandFormatError', undefined]);
  });
});

describe('a simulated Mac before OS 27', () => {
  it('only notifies its user where it should', () => {
    const mac = createMac({ isSilicon: true });
    const ProductKey = '072-01382';
    expect(schedule(mac, { ProductKey, InstallAction: 'NotifyOnly' })).toEqual({
      ProductKey,
      InstallAction: 'NotifyOnly',
      Status: 'Idle',
    });
    expect(statusOf(mac)).toEqual([
      { ProductKey, IsDownloaded: false, DownloadPercentComplete: 0, Status: 'Idle' },
    ]);
  });
});

describe('a simulated device with OS 27', () => {
  it.each(['AvailableOSUpdates', 'OSUpdateStatus', 'ScheduleOSUpdate'])(
    'does not know %s',
    (name) => {
      const phone = newestPhone();
      phone.identity.release = { version: '27.0', build: '24A1' };
      const report = answerOf(phone, { RequestType: name, Updates: [] });
      expect(firstError(report)).toMatchObject({
        ErrorCode: 12_021,
        LocalizedDescription: `“${name}” is not a valid request type.`,
      });
    },
  );
});
