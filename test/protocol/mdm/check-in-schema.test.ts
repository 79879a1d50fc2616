import { decodeMessage } from '../../../src/protocol/mdm/mdm-messages.js';
import { buildPlist, parsePlistDict } from '../../../src/protocol/plist/plist.js';
import { binaryPlist } from '../plist/binary-plist.js';
import { CHECK_INS, sampleMessage, TYPES } from './check-in-samples.js';

/** Where each of Apple's keys is in a decoded message; a new key has no place yet. */
const PLACES: Record<string, string> = {
  MessageType: 'kind',
  Topic: 'topic',
  UDID: 'ids.udid',
  EnrollmentID: 'ids.enrollmentId',
  EnrollmentUserID: 'ids.enrollmentUserId',
  UserID: 'ids.userId',
  UserShortName: 'ids.userShortName',
  UserLongName: 'ids.userLongName',
  DeviceName: 'deviceName',
  Model: 'model',
  ModelName: 'modelName',
  OSVersion: 'osVersion',
  BuildVersion: 'buildVersion',
  ProductName: 'productName',
  SerialNumber: 'serialNumber',
  IMEI: 'imei',
  MEID: 'meid',
  Token: 'token',
  PushMagic: 'pushMagic',
  UnlockToken: 'unlockToken',
  AwaitingConfiguration: 'awaitingConfiguration',
  NotOnConsole: 'notOnConsole',
  DigestResponse: 'digestResponse',
  BootstrapToken: 'bootstrapToken',
  TokenServiceType: 'tokenServiceType',
  TokenParameters: 'tokenParameters',
  Endpoint: 'endpoint',
  Data: 'data',
};

/** Devices send it with these two as well, which the schema leaves out. */
const UDID = { UDID: 'UDID of the test' };

it('these are the messages of Apple', () => {
  expect(TYPES).toEqual([
    'Authenticate',
    'CheckOut',
    'DeclarativeManagement',
    'GetBootstrapToken',
    'GetToken',
    'ReturnToService',
    'SetBootstrapToken',
    'TokenUpdate',
    'UserAuthenticate',
  ]);
});

describe.each(CHECK_INS)('$requestType with all its keys', ({ requestType, keys }) => {
  const sample = { ...UDID, ...sampleMessage(requestType) };
  const xml = buildPlist(sample);

  it.each([
    ['XML', xml],
    ['binary', binaryPlist(parsePlistDict(xml))],
  ])('is read, as %s', (_encoding, bytes) => {
    const message = decodeMessage(bytes);
    for (const { key } of keys) {
      const place = PLACES[key];
      expect([key, place]).toEqual([key, expect.any(String)]);
      expect(message).toHaveProperty(String(place), sample[key as keyof typeof sample]);
    }
    expect(message.body).toEqual(sample);
  });

  it('is read without any key of the wrong type', () => {
    for (const { key, type } of keys) {
      if (isNeeded(key, requestType)) continue;
      const place = String(PLACES[key]);
      for (const wrong of wrongValues(type)) {
        const message = decodeMessage(
          buildPlist({ ...UDID, ...sample, [key]: wrong, ...ids(key) }),
        );
        expect(message).not.toHaveProperty(place, wrong);
      }
    }
  });
});

/** Required keys; and a malformed bootstrap token, which must not remove the stored one. */
function isNeeded(key: string, requestType: string): boolean {
  if (requestType === 'TokenUpdate') return ['MessageType', 'Token', 'PushMagic'].includes(key);
  return key === 'MessageType' || (requestType === 'SetBootstrapToken' && key === 'BootstrapToken');
}

function ids(key: string) {
  return key === 'UDID' ? { EnrollmentID: 'of the test' } : {};
}

function wrongValues(type: string) {
  const values: [string, string | number | boolean | Buffer | string[]][] = [
    ['string', 'text'],
    ['boolean', true],
    ['data', Buffer.from('bytes')],
    ['integer', 7],
    ['array', ['text']],
  ];
  return values.filter(([name]) => name !== type).map(([, value]) => value);
}
