import { type CommandOffer, faultsOfOffer } from '../../src/commands/offer-eligibility.js';
import { buildPlist, type PlistDict } from '../../src/protocol/plist/plist.js';

const FACTS = {
  enrollment_type: 'device',
  enrollment_method: null,
  platform: 'iOS',
  os_version: '18.0',
  is_supervised: true,
  enrolled_via_dep: null,
  is_multi_user: null,
  is_apple_silicon: null,
  access_rights: null,
};

interface Offered {
  requestType: string;
  parameters: PlistDict;
  facts?: object;
}

/** The faults of an offer, and how often its plist was opened. */
function offer({ requestType, parameters, facts }: Offered, more: Partial<CommandOffer> = {}) {
  let opened = 0;
  const { ofType, ofParameters } = faultsOfOffer({
    deviceId: 7,
    requestType,
    facts: JSON.stringify({ ...FACTS, ...facts }),
    isForUser: false,
    isForced: false,
    openPlist: () => {
      opened += 1;
      return buildPlist({ Command: { ...parameters, RequestType: requestType } });
    },
    ...more,
  });
  const detailOf = ({ detail }: { detail: string }) => detail;
  return { ofType: ofType.map(detailOf), ofParameters: ofParameters.map(detailOf), opened };
}

describe('a command that is offered', () => {
  it('is not opened if its device takes every key that there is', () => {
    const Payload = Buffer.from('a profile');
    const install = { requestType: 'InstallProfile', parameters: { Payload } };
    expect(offer(install)).toEqual({ ofType: [], ofParameters: [], opened: 0 });
    const list = { requestType: 'ProfileList', parameters: {}, facts: { platform: 'macOS' } };
    expect(offer(list)).toEqual({ ofType: [], ofParameters: [], opened: 0 });
  });

  it('is not opened if the device does not take its type, or an admin forced it', () => {
    const PIN = '123456';
    const lock = { requestType: 'DeviceLock', parameters: { PIN } };
    expect(offer({ ...lock, facts: { platform: 'tvOS' } })).toEqual({
      ofType: ['DeviceLock does not exist on tvOS, which device 7 runs'],
      ofParameters: [],
      opened: 0,
    });
    expect(offer(lock, { isForced: true })).toEqual({ ofType: [], ofParameters: [], opened: 0 });
  });

  it("is opened on a person's own device also if an admin forced it", () => {
    const facts = { enrollment_type: 'user' };
    const ask = (...Queries: string[]) =>
      offer(
        { requestType: 'DeviceInformation', parameters: { Queries }, facts },
        { isForced: true },
      );
    expect(ask('SerialNumber')).toEqual({
      ofType: [],
      ofParameters: ['SerialNumber of DeviceInformation is not for a user enrollment (device 7)'],
      opened: 1,
    });
    expect(ask('DeviceName', 'SerialNumber').ofParameters).toEqual([]);
  });

  it('has a fault for each key that the device does not take, also when it is offered again', () => {
    const parameters = { PIN: '123456', Message: 'PIN' };
    const expected = {
      ofType: [],
      ofParameters: ['PIN of DeviceLock does not exist on iOS, which device 7 runs'],
      opened: 1,
    };
    const lock = { requestType: 'DeviceLock', parameters };
    expect([offer(lock), offer(lock)]).toEqual([expected, expected]);
    expect(offer({ ...lock, parameters: { Message: 'PIN' } }).ofParameters).toEqual([]);
  });

  it('has no fault where a name that is excluded elsewhere stands where the device takes it', () => {
    const lock = { requestType: 'DeviceLock', parameters: { Message: 'PIN', PhoneNumber: '1' } };
    expect(offer(lock).ofParameters).toEqual([]);
    const facts = { platform: null, os_version: null };
    const ofAny = { requestType: 'DeviceLock', parameters: { PIN: '123456' }, facts };
    expect(offer(ofAny)).toEqual({ ofType: [], ofParameters: [], opened: 0 });
  });

  it('keeps its queries if the device may answer one of them', () => {
    const facts = { platform: 'macOS', os_version: '27.0', access_rights: 8191 - 32 };
    const ask = (...Queries: string[]) =>
      offer({ requestType: 'DeviceInformation', parameters: { Queries }, facts }).ofParameters;
    expect(ask('UDID', 'WiFiMAC', 'OSUpdateSettings')).toEqual([]);
    expect(ask('OSUpdateSettings')).toEqual([
      'OSUpdateSettings of DeviceInformation was removed with macOS 27.0, and the device runs 27.0 (device 7)',
    ]);
  });
});
