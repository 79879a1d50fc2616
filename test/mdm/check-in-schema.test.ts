import { randomUUID } from 'node:crypto';
import { buildPlist, parsePlistDict } from '../../src/protocol/plist/plist.js';
import { startApp, type TestApp } from '../helpers/app.js';
import {
  CHECK_IN_TYPE,
  createTestDevice,
  type Fields,
  type Reply,
  type TestDevice,
} from '../helpers/device.js';
import { sampleMessage, TYPES, USER_KEYS } from '../protocol/mdm/check-in-samples.js';
import { binaryPlist } from '../protocol/plist/binary-plist.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

const ENCODINGS: [string, (fields: Fields) => Buffer][] = [
  ['XML', buildPlist],
  ['binary', (fields) => binaryPlist(parsePlistDict(buildPlist(fields)))],
];

/** Keys of a user enrollment; the device is known by its UDID or by its EnrollmentID, never both. */
const ENROLLMENT_KEYS = ['EnrollmentID', 'EnrollmentUserID'];

/** What Apple's answers are; nobody has uploaded a key for tokens. */
const STATUSES: Record<string, [device: number, user: number]> = {
  Authenticate: [200, 400],
  CheckOut: [200, 200],
  DeclarativeManagement: [200, 200],
  GetBootstrapToken: [200, 404],
  GetToken: [404, 404],
  ReturnToService: [403, 404],
  SetBootstrapToken: [200, 404],
  TokenUpdate: [200, 200],
  UserAuthenticate: [410, 410],
};

interface Sender {
  what: string;
  channel: 0 | 1;
  ids(): Fields;
  /** Keys that the message has of it. */
  users: Fields;
  left: readonly string[];
}

const ANNA = { UserID: randomUUID().toUpperCase(), UserShortName: 'anna', UserLongName: 'Anna E' };
const SENDERS: Sender[] = [
  {
    what: 'a device',
    channel: 0,
    users: {},
    ids: () => ({ UDID: randomUUID().toUpperCase() }),
    left: [...USER_KEYS, ...ENROLLMENT_KEYS],
  },
  {
    what: 'a user enrollment',
    channel: 0,
    users: {},
    ids: () => ({ EnrollmentID: randomUUID().toUpperCase() }),
    left: [...USER_KEYS, 'UDID', 'EnrollmentUserID'],
  },
  {
    what: 'a user of a Mac',
    channel: 1,
    users: ANNA,
    ids: () => ({ UDID: randomUUID().toUpperCase() }),
    left: ENROLLMENT_KEYS,
  },
  {
    what: 'the user of a user enrollment',
    channel: 1,
    users: { EnrollmentUserID: randomUUID().toUpperCase(), UserLongName: 'Anna E' },
    ids: () => ({ EnrollmentID: randomUUID().toUpperCase() }),
    left: ['UDID', 'UserID', 'UserShortName'],
  },
];

async function deviceOf({ ids }: Sender, type: string): Promise<TestDevice> {
  const device = await createTestDevice(app, ids());
  return type === 'Authenticate' ? device : device.enroll();
}

function messageOf(type: string, { left, users }: Sender, device: TestDevice): Fields {
  return { ...sampleMessage(type, left), ...device.ids, ...users };
}

function outcome({ status, body }: Reply): [number, string] {
  return [status, body.toString()];
}

async function rowOf(device: TestDevice) {
  const key = device.ids.UDID === undefined ? 'enrollment_id' : 'udid';
  return app.db
    .knex('devices')
    .where({ [key]: device.udid })
    .first();
}

it('the samples cover every message of Apple', () => {
  expect(Object.keys(STATUSES)).toEqual(TYPES);
});

describe.each(SENDERS)('$what', (sender) => {
  const { channel } = sender;

  describe.each(ENCODINGS)('sends in %s', (_encoding, encode) => {
    it.each(TYPES)('%s with all its keys', async (type) => {
      const device = await deviceOf(sender, type);
      const message = messageOf(type, sender, device);
      const reply = await device.send(encode(message), { contentType: CHECK_IN_TYPE });
      expect(outcome(reply)).toEqual([STATUSES[type]?.[channel], '']);
    });
  });

  it.each(TYPES)(
    '%s with keys of the wrong type, and it is no fault of the server',
    async (type) => {
      const device = await deviceOf(sender, type);
      const message = messageOf(type, sender, device);
      const kept = ['MessageType', ...Object.keys(device.ids), ...Object.keys(sender.users)];
      for (const key of Object.keys(message).filter((name) => !kept.includes(name))) {
        const wrong = { ...message, [key]: [{ a: 1 }, 'text'], Unknown: { deep: [new Date(0)] } };
        const { status } = await device.send(wrong);
        const needed = type === 'TokenUpdate' && ['Token', 'PushMagic'].includes(key);
        const asked = ['Endpoint', 'Data', 'TokenServiceType', 'BootstrapToken'].includes(key);
        expect([key, status]).toEqual([key, needed || asked ? 400 : STATUSES[type]?.[channel]]);
        if (type === 'CheckOut') await device.enroll();
      }
    },
  );
});

describe('what a message stores', () => {
  const device = SENDERS[0] as Sender;
  const user = SENDERS[2] as Sender;

  it('Authenticate and TokenUpdate store every key', async () => {
    const one = await createTestDevice(app);
    await one.send(messageOf('Authenticate', device, one));
    await one.send(messageOf('TokenUpdate', device, one));
    const row = await rowOf(one);
    expect(row).toMatchObject({
      topic: 'Topic of the test',
      device_name: 'DeviceName of the test',
      model: 'Model of the test',
      model_name: 'MacBook Pro',
      platform: 'macOS',
      product_name: 'MacBookPro18,1',
      os_version: 'OSVersion of the test',
      build_version: 'BuildVersion of the test',
      imei: 'IMEI of the test',
      serial_number: 'SerialNumber of the test',
      meid: 'MEID of the test',
      awaiting_configuration: true,
      enrollment_state: 'enrolled',
    });
    const push = app.box.open(row.sealed_push, `devices/${row.id}/push`).toString();
    expect(JSON.parse(push)).toEqual({
      token: Buffer.from('Token of the test').toString('hex'),
      push_magic: 'PushMagic of the test',
    });
    const [secret, ...others] = await app.db.knex('device_secrets').where({ device_id: row.id });
    expect(others).toEqual([]);
    expect(app.box.open(secret.sealed, `devices/${row.id}/unlock_token`).toString()).toBe(
      'UnlockToken of the test',
    );
  });

  it('the TokenUpdate of a user changes that user alone', async () => {
    const one = await (await createTestDevice(app)).enroll();
    const before = await rowOf(one);
    await one.send(messageOf('TokenUpdate', user, one));
    const { last_seen: _seen, ...after } = await rowOf(one);
    expect(before).toMatchObject(after);
    const [row, ...others] = await app.db.knex('device_users').where({ device_id: before.id });
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      user_key: ANNA.UserID,
      short_name: 'anna',
      long_name: 'Anna E',
      not_on_console: true,
      is_enrolled: true,
    });
    expect(await app.db.knex('device_secrets').where({ device_id: before.id })).toEqual([]);
  });
});
