import { AppError } from '../../../src/errors.js';
import { decodeMessage, type MdmMessage } from '../../../src/protocol/mdm/mdm-messages.js';
import { buildPlist, type PlistInput } from '../../../src/protocol/plist/plist.js';
import { fixture } from '../plist/plist-fixtures.js';

const UDID = '00000000-1111-2222-3333-444455556666';
const SHARED = 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF';

function decode(body: { [key: string]: PlistInput }): MdmMessage {
  return decodeMessage(buildPlist(body));
}

function failure(body: { [key: string]: PlistInput }): AppError {
  try {
    decode(body);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

const TOKEN_UPDATE = {
  MessageType: 'TokenUpdate',
  UDID,
  Token: Buffer.from('apple'),
  PushMagic: 'magic',
};

describe('refusing device messages', () => {
  it.each<[string, { [key: string]: PlistInput }, string]>([
    ['an empty dictionary', {}, 'neither a MessageType nor a known Status'],
    ['an id alone', { UDID }, 'neither a MessageType nor a known Status'],
    ['an unknown MessageType', { MessageType: 'Hello', UDID }, 'its MessageType is unknown'],
    ['a MessageType of Object', { MessageType: 'constructor', UDID }, 'its MessageType is unknown'],
    ['an unknown Status', { Status: 'idle', UDID }, 'neither a MessageType nor a known Status'],
    ['a Status that is no text', { Status: 1, UDID }, 'neither a MessageType nor a known Status'],
    ['a check-in without id', { MessageType: 'CheckOut' }, 'neither a UDID nor an EnrollmentID'],
    ['an empty id', { MessageType: 'CheckOut', UDID: '' }, 'neither a UDID nor an EnrollmentID'],
    ['an id of another type', { Status: 'Idle', UDID: 7 }, 'neither a UDID nor an EnrollmentID'],
    ['an id too long', { Status: 'Idle', UDID: 'a'.repeat(256) }, 'UDID is too long'],
    ['an id with a line feed', { Status: 'Idle', UDID: 'a\nb' }, 'UDID has a control character'],
    ['a report without command', { Status: 'NotNow', UDID }, 'NotNow without a CommandUUID'],
    [
      'an empty CommandUUID',
      { Status: 'Error', CommandUUID: '', UDID },
      'Error without a CommandUUID',
    ],
    [
      'a long CommandUUID',
      { Status: 'Error', CommandUUID: 'a'.repeat(256), UDID },
      'CommandUUID is too long',
    ],
    [
      'a TokenUpdate without Token',
      { ...TOKEN_UPDATE, Token: Buffer.alloc(0) },
      'TokenUpdate without a Token',
    ],
    ['a Token that is text', { ...TOKEN_UPDATE, Token: 'apple' }, 'TokenUpdate without a Token'],
    [
      'a TokenUpdate without PushMagic',
      { ...TOKEN_UPDATE, PushMagic: '' },
      'TokenUpdate without a PushMagic',
    ],
    [
      'a Shared iPad user without name',
      { Status: 'Idle', UDID, UserID: SHARED },
      'Shared iPad user without a UserShortName',
    ],
    ...['token', 7, true, [Buffer.from('b')], { token: Buffer.from('b') }].map(
      (BootstrapToken) =>
        [
          `a BootstrapToken that is ${JSON.stringify(BootstrapToken)}`,
          { MessageType: 'SetBootstrapToken', UDID, BootstrapToken },
          'its BootstrapToken is not data',
        ] as [string, { [key: string]: PlistInput }, string],
    ),
  ])('refuses %s', (_what, body, reason) => {
    expect(failure(body)).toMatchObject({
      code: 'invalid_message',
      status: 400,
      message: `Not a valid device message: ${reason}`,
    });
  });

  it('refuses secrets of more than 64 KiB', () => {
    const most = Buffer.alloc(64 * 1024, 1);
    const set = { MessageType: 'SetBootstrapToken', UDID };
    expect(decode({ ...set, BootstrapToken: most })).toMatchObject({ bootstrapToken: most });
    expect(decode({ ...TOKEN_UPDATE, UnlockToken: most })).toMatchObject({ unlockToken: most });
    const more = Buffer.alloc(64 * 1024 + 1, 1);
    const large = { code: 'payload_too_large', status: 413 };
    expect(failure({ ...set, BootstrapToken: more })).toMatchObject(large);
    expect(failure({ ...TOKEN_UPDATE, UnlockToken: more })).toMatchObject(large);
  });

  it('refuses the captured check-in of a type no server knows', () => {
    const bytes = fixture('checkin/unknown-MessageType.plist');
    expect(() => decodeMessage(bytes)).toThrow('its MessageType is unknown');
  });

  it('refuses bodies that are no dictionary, or no property list', () => {
    expect(() => decodeMessage(buildPlist(['a']))).toThrow('it is no dictionary');
    expect(() => decodeMessage(Buffer.alloc(0))).toThrow('Not a valid property list');
  });
});

describe('reading check-ins', () => {
  it("reads a Mac's Authenticate", () => {
    const raw = fixture('checkin/Authenticate.imac-10.12.6.plist');
    const { body, ...message } = decodeMessage(raw);
    const udid = '66ADE930-5FDF-5EC4-8429-15640684C489';
    expect(message).toStrictEqual({
      kind: 'Authenticate',
      ids: { channel: 'device', deviceKey: udid, udid },
      raw,
      topic: 'com.apple.mgmt.External.e0bd1eac-1f17-4c8e-8a63-dd17d3dd35d9',
      deviceName: 'Fruit',
      model: 'iMac14,2',
      modelName: 'iMac',
      osVersion: '10.12.6',
      buildVersion: '16G2136',
      productName: 'iMac14,2',
      serialNumber: 'C02MT66KFLHH',
    });
    expect(body.DeviceName).toBe('Fruit');
  });

  it('counts empty strings and data as absent', () => {
    const message = decodeMessage(
      fixture('checkin/Authenticate.macbookpro-10.11.6.one-line.plist'),
    );
    expect(message).toMatchObject({ kind: 'Authenticate', ids: { channel: 'device' } });
    expect(message).not.toHaveProperty('imei');
    expect(message.ids).not.toHaveProperty('userId');
  });

  it("reads an iPad's TokenUpdate with its unlock token", () => {
    const message = decodeMessage(fixture('checkin/TokenUpdate.ipad-9.3.5.plist'));
    if (message.kind !== 'TokenUpdate') throw new Error(message.kind);
    expect(message.token.toString('hex')).toBe(
      '47e8eec062c2f729ec1703c1b3e18f1971d85f00be76445d3408' + '0baa701b5f51',
    );
    expect(message.pushMagic).toBe('CEFDF0BD-E342-4A27-8742-E930EA116B0A');
    expect(message.unlockToken).toHaveLength(1288);
    expect(message.awaitingConfiguration).toBe(false);
    expect(message).not.toHaveProperty('notOnConsole');
    expect(message.kind).not.toBe('report');
  });

  it('ignores optional keys of the wrong type', () => {
    const body = { ...TOKEN_UPDATE, UnlockToken: 'text', AwaitingConfiguration: 1, Topic: false };
    const message = decode(body);
    expect(message).not.toHaveProperty('unlockToken');
    expect(message).not.toHaveProperty('awaitingConfiguration');
    expect(message).not.toHaveProperty('topic');
  });

  it('reads the check-ins that carry little', () => {
    expect(decodeMessage(fixture('checkin/CheckOut.macos-10.11.plist'))).toMatchObject({
      kind: 'CheckOut',
      ids: { deviceKey: UDID },
    });
    expect(
      decode({ MessageType: 'GetBootstrapToken', UDID, AwaitingConfiguration: true }),
    ).toMatchObject({ kind: 'GetBootstrapToken', awaitingConfiguration: true });
    expect(decode({ MessageType: 'SetBootstrapToken', UDID })).not.toHaveProperty('bootstrapToken');
    const set = { MessageType: 'SetBootstrapToken', UDID, BootstrapToken: Buffer.from('b') };
    expect(decode(set)).toMatchObject({ bootstrapToken: Buffer.from('b') });
  });

  it('reads GetToken, DeclarativeManagement and UserAuthenticate', () => {
    const parameters = { SecurityToken: 's', PhoneUDID: 'p' };
    const getToken = {
      MessageType: 'GetToken',
      UDID,
      TokenServiceType: 'com.apple.maid',
      TokenParameters: parameters,
    };
    expect(decode(getToken)).toMatchObject({
      kind: 'GetToken',
      tokenServiceType: 'com.apple.maid',
      tokenParameters: parameters,
    });
    const declarative = { MessageType: 'DeclarativeManagement', UDID, Endpoint: 'tokens' };
    expect(decode({ ...declarative, Data: Buffer.from('{}') })).toMatchObject({
      kind: 'DeclarativeManagement',
      endpoint: 'tokens',
      data: Buffer.from('{}'),
    });
    const user = { MessageType: 'UserAuthenticate', UDID, UserID: 'u', DigestResponse: 'd' };
    expect(decode(user)).toMatchObject({ kind: 'UserAuthenticate', digestResponse: 'd' });
  });
});

describe('reading the ids of a message', () => {
  it.each<[string, { [key: string]: string }, object]>([
    ['a device', { UDID }, { channel: 'device', deviceKey: UDID, udid: UDID }],
    [
      'a user of a Mac',
      { UDID, UserID: 'u-1', UserShortName: 'ada', UserLongName: 'Ada' },
      {
        channel: 'user',
        deviceKey: UDID,
        userKey: 'u-1',
        udid: UDID,
        userId: 'u-1',
        userShortName: 'ada',
        userLongName: 'Ada',
      },
    ],
    [
      'a user of a Shared iPad',
      { UDID, UserID: SHARED, UserShortName: 'ada@example.org' },
      {
        channel: 'user',
        deviceKey: UDID,
        userKey: 'ada@example.org',
        udid: UDID,
        userId: SHARED,
        userShortName: 'ada@example.org',
      },
    ],
    [
      'a user enrollment',
      { EnrollmentID: 'e-1' },
      { channel: 'device', deviceKey: 'e-1', enrollmentId: 'e-1' },
    ],
    [
      'the user of a user enrollment',
      { EnrollmentID: 'e-1', EnrollmentUserID: 'eu-1' },
      {
        channel: 'user',
        deviceKey: 'e-1',
        userKey: 'eu-1',
        enrollmentId: 'e-1',
        enrollmentUserId: 'eu-1',
      },
    ],
    [
      'a device with both ids',
      { UDID, EnrollmentID: 'e-1' },
      { channel: 'device', deviceKey: UDID, udid: UDID, enrollmentId: 'e-1' },
    ],
  ])('reads the ids of %s', (_who, ids, expected) => {
    expect(decode({ Status: 'Idle', ...ids }).ids).toStrictEqual(expected);
  });
});

describe('reading command reports', () => {
  it('reads Idle without a CommandUUID', () => {
    const message = decode({ Status: 'Idle', UDID });
    expect(message).toMatchObject({ kind: 'report', status: 'Idle' });
    expect(message).not.toHaveProperty('commandUuid');
    expect(message.kind).toBe('report');
  });

  it.each([
    ['response/NotNow.ios-11.3.1.plist', 'NotNow', 'bb5d7813-e7c3-4279-b954-4b678925de5f'],
    [
      'response/CommandFormatError.ios-11.3.1.plist',
      'CommandFormatError',
      '52aab5d2-6a61-4fe8-b685-44f8b56972d0',
    ],
    [
      'response/ProfileList.ios-11.3.1.plist',
      'Acknowledged',
      '2d1d3845-3e06-4687-a357-b343ebb17888',
    ],
  ])('reads %s', (path, status, commandUuid) => {
    const message = decodeMessage(fixture(path));
    expect(message).toMatchObject({ kind: 'report', status, commandUuid });
    expect(message).not.toHaveProperty('errorChain');
  });

  it("reads an error's chain and the request type some systems echo", () => {
    const message = decodeMessage(fixture('response/Error.macos-10.12.5-invalid-command.plist'));
    expect(message).toMatchObject({
      kind: 'report',
      status: 'Error',
      requestType: 'RemoveProfile',
      errorChain: [{ ErrorCode: 97, ErrorDomain: 'MDMClientError' }],
    });
  });

  it('keeps the answer itself', () => {
    const raw = fixture('response/DeviceInformation.imac-10.12.6.plist');
    const message = decodeMessage(raw);
    expect(message.raw).toBe(raw);
    expect(Object.keys(message.body)).toContain('QueryResponses');
  });
});
