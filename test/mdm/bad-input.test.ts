import { randomUUID } from 'node:crypto';
import { buildPlist } from '../../src/protocol/plist/plist.js';
import { startApp, type TestApp } from '../helpers/app.js';
import {
  CHECK_IN_TYPE,
  commandIn,
  createTestDevice,
  type Reply,
  type TestDevice,
} from '../helpers/device.js';
import { BinaryPlist, binaryPlist } from '../protocol/plist/binary-plist.js';
import { document } from '../protocol/plist/plist-fixtures.js';
import { sendRaw } from './raw-requests.js';
import { dumpRows } from './rows.js';

let app: TestApp;
let device: TestDevice;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  device = await createTestDevice(app);
  await device.enroll({}, { UnlockToken: Buffer.from('never to be logged') });
});
afterAll(() => app.stop());

function message(fields: Record<string, string> = {}): Buffer {
  return buildPlist({ Status: 'Idle', UDID: device.udid, ...fields });
}

/** Refused with this status, said once in the log with no secret, and nothing changed. */
async function expectRefusal(status: number, say: () => Promise<Reply>) {
  const [before, logged] = [await dumpRows(app.db), app.logLines.length];
  const reply = await say();
  expect([reply.status, reply.headers.get('content-length'), reply.body.length]).toEqual([
    status,
    '0',
    0,
  ]);
  const lines = app.logLines.slice(logged);
  expect(lines).toEqual([
    expect.objectContaining({ msg: 'device request refused', method: 'PUT', status }),
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/never to be logged|the-secret|MII/);
  expect(await dumpRows(app.db)).toEqual(before);
}

/** Dictionaries inside one another, right but for their number. */
function nested(depth: number): Buffer {
  const open = '<dict><key>a</key>'.repeat(depth);
  return document(`${open}<true/>${'</dict>'.repeat(depth)}`);
}

function withDoctype(subset: string, value: string): Buffer {
  return Buffer.from(
    `<?xml version="1.0"?><!DOCTYPE plist [${subset}]><plist version="1.0"><dict>` +
      `<key>Status</key><string>${value}</string>` +
      `<key>UDID</key><string>${device.udid}</string></dict></plist>`,
  );
}

function entityBomb(): Buffer {
  const lines = ['<!ENTITY a "Idle">'];
  for (let level = 1; level < 20; level += 1) {
    const [name, inner] = [level, level - 1].map((at) => String.fromCharCode(97 + at));
    lines.push(`<!ENTITY ${name} "${`&${inner};`.repeat(10)}">`);
  }
  return withDoctype(lines.join(''), '&t;');
}

/** A binary list whose arrays hold the one before many times over. */
function binaryBomb(): Buffer {
  const list = new BinaryPlist();
  let inner = list.text('x'.repeat(1000));
  for (let level = 0; level < 9; level += 1) inner = list.array(Array(16).fill(inner));
  return list.bytes(inner);
}

function selfReference(): Buffer {
  const list = new BinaryPlist();
  return list.bytes(list.array([0]));
}

describe('a message is refused if its signature', () => {
  it('is missing', async () => {
    await expectRefusal(400, () => device.send(message(), { signature: null }));
    await expectRefusal(400, () => device.send(message(), { signature: '' }));
  });

  it.each([
    ['no base64', 'the-secret!!'],
    ['base64 of nothing that is ASN.1', Buffer.from('the-secret').toString('base64')],
    ['longer than any', 'A'.repeat(14_000)],
  ])('is %s', async (_what, signature) => {
    await expectRefusal(400, () => device.send(message(), { signature }));
  });

  it('is cut short', async () => {
    const whole = device.sign(message());
    for (const length of [4, 400, whole.length - 4]) {
      const signature = whole.slice(0, length);
      await expectRefusal(400, () => device.send(message(), { signature }));
    }
  });

  it('signs another body', async () => {
    const signature = device.sign(message({ Status: 'NotNow' }));
    await expectRefusal(400, () => device.send(message(), { signature }));
  });

  it('signs a body that was altered by one byte', async () => {
    const uuid = commandIn(await device.idle())?.uuid ?? '';
    const body = message({ Status: 'Error', CommandUUID: uuid });
    const signature = device.sign(body);
    const altered = Buffer.from(body.toString().replace('<string>Error', '<string>Errot'));
    await expectRefusal(400, () => device.send(altered, { signature }));
    const longer = Buffer.concat([body, Buffer.from('\n')]);
    await expectRefusal(400, () => device.send(longer, { signature }));
  });
});

describe('a message is refused if its body', () => {
  const bodies: [string, () => Buffer][] = [
    ['empty', () => Buffer.alloc(0)],
    ['truncated', () => message().subarray(0, 300)],
    ['a truncated binary', () => binaryPlist({ Status: 'Idle', UDID: 'x' }).subarray(0, 40)],
    ['JSON', () => Buffer.from(JSON.stringify({ Status: 'Idle', UDID: device.udid }))],
    ['garbage', () => Buffer.from(Array.from({ length: 500 }, (_, at) => (at * 151 + 7) % 256))],
    ['a list instead of a dictionary', () => buildPlist(['Idle'])],
    ['text that is no UTF-8', () => Buffer.from('<plist><dict>\xff\xfe</dict></plist>', 'latin1')],
    ['nested too deeply', () => nested(10_000)],
    ['an entity bomb', entityBomb],
    ['a binary bomb', binaryBomb],
    ['a binary that contains itself', selfReference],
    [
      'with an external entity',
      () => withDoctype('<!ENTITY x SYSTEM "file:///etc/passwd">', '&x;'),
    ],
    ['with a NUL as a reference', () => document('<dict><key>a</key><string>&#0;</string></dict>')],
    ['with a NUL in its text', () => Buffer.from(message().toString().replace('Idle', 'Id\0le'))],
    [
      'with a NUL in binary',
      () => binaryPlist({ Status: 'Idle', UDID: device.udid, Name: 'a\0b' }),
    ],
    [
      'with half a surrogate in binary',
      () => binaryPlist({ Status: 'Idle', UDID: device.udid, Name: 'a\ud800' }),
    ],
    ['with bad base64', () => document('<dict><key>Token</key><data>*</data></dict>')],
  ];

  it.each(bodies)('is %s', async (_what, body) => {
    await expectRefusal(400, () => device.send(body()));
  });

  it('is too large, announced or not', async () => {
    const [before, body] = [await dumpRows(app.db), Buffer.alloc(8 * 1024 * 1024 + 1, 0x20)];
    const signature = { 'Mdm-Signature': device.sign(body) };
    const announced = { ...signature, 'Content-Length': String(body.length) };
    const refused = { status: 413, allow: undefined, length: 0 };
    expect(await sendRaw(app, { headers: announced, body })).toEqual(refused);
    const chunked = { ...signature, 'Transfer-Encoding': 'chunked' };
    expect(await sendRaw(app, { headers: chunked, body })).toEqual(refused);
    expect(await dumpRows(app.db)).toEqual(before);
  });
});

describe('a message is refused if it', () => {
  const messages: [string, Record<string, unknown>][] = [
    ['names no device', { Status: 'Idle' }],
    ['names an empty device', { Status: 'Idle', UDID: '' }],
    ['has an id that is no text', { Status: 'Idle', UDID: 7 }],
    ['has an id over 255 characters', { Status: 'Idle', UDID: 'u'.repeat(256) }],
    ['has an id with a line break', { Status: 'Idle', UDID: 'u\nv' }],
    ['has neither type nor status', {}],
    ['has an unknown status', { Status: 'Bored' }],
    ['has a status of another kind', { Status: true }],
    ['is Acknowledged without a CommandUUID', { Status: 'Acknowledged' }],
    ['is NotNow without a CommandUUID', { Status: 'NotNow', CommandUUID: '' }],
    ['has a CommandUUID over 255 characters', { Status: 'Error', CommandUUID: 'c'.repeat(256) }],
    ['has an unknown MessageType', { MessageType: 'Hello', Status: 'Idle' }],
    ['has the name of an object member as its type', { MessageType: '__proto__' }],
    ['is a TokenUpdate without a token', { MessageType: 'TokenUpdate', PushMagic: 'm' }],
    [
      'is a TokenUpdate with an empty token',
      { MessageType: 'TokenUpdate', PushMagic: 'm', Token: Buffer.alloc(0) },
    ],
    [
      'is a TokenUpdate without its magic',
      { MessageType: 'TokenUpdate', Token: Buffer.from('the-secret') },
    ],
  ];

  it.each(messages)('%s', async (_what, fields) => {
    const ids = 'UDID' in fields || _what === 'names no device' ? {} : device.ids;
    await expectRefusal(400, () => device.send({ ...ids, ...fields } as Record<string, string>));
  });

  it('is a report with the type of a check-in', async () => {
    await expectRefusal(400, () => device.send(message(), { contentType: CHECK_IN_TYPE }));
  });

  it('is a check-in that Muster does not offer', async () => {
    await expectRefusal(400, () => device.checkIn('GetToken', { TokenServiceType: 'x' }));
    await expectRefusal(400, () => device.checkIn('DeclarativeManagement', { Endpoint: 'x' }));
    await expectRefusal(410, () => device.checkIn('UserAuthenticate'));
  });
});

describe('a request', () => {
  it.each(['GET', 'POST', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'])(
    'has the method %s',
    async (method) => {
      for (const path of ['/mdm', '/checkin', '/mdm?x=1', '/mdm/']) {
        const headers = { 'Mdm-Signature': device.sign(message()) };
        const reply = await sendRaw(app, { method, path, headers });
        expect([method, path, reply]).toEqual([
          method,
          path,
          { status: 405, allow: 'PUT', length: 0 },
        ]);
      }
    },
  );

  it.each(['/mdm/x', '/mdmx', '/checkin/mdm'])('has the path %s', async (path) => {
    expect((await device.send(message(), { path })).status).toBe(404);
  });

  it.each(['/mdm', '/mdm/', '/mdm?a=b', '/checkin', '/checkin/', '/checkin?a=b'])(
    'is right at %s',
    async (path) => {
      const reply = await device.send({ ...device.ids, Status: 'Idle' }, { path });
      expect(reply.status).toBe(200);
    },
  );

  it.each([
    'application/x-apple-aspen-mdm',
    'application/x-apple-aspen-mdm; charset=UTF-8',
    'text/plain',
    'nonsense',
  ])('is accepted with the type %s', async (contentType) => {
    expect((await device.send(message(), { contentType })).status).toBe(200);
  });

  it('is accepted if a check-in has another type', async () => {
    const fields = { Token: device.token, PushMagic: device.pushMagic };
    const reply = await device.send({ MessageType: 'TokenUpdate', ...device.ids, ...fields });
    expect(reply.status).toBe(200);
  });
});

it('a failure of the database is answered 503 with Retry-After, and the device stays enrolled', async () => {
  const other = await startApp();
  const victim = await (await createTestDevice(other)).enroll();
  await other.db.knex.raw('alter table device_identities rename to elsewhere');
  const reply = await victim.report(randomUUID());
  expect([reply.status, reply.headers.get('retry-after'), reply.body.length]).toEqual([
    503,
    '30',
    0,
  ]);
  await other.db.knex.raw('alter table elsewhere rename to device_identities');
  expect((await victim.idle()).status).toBe(200);
  await other.stop();
});

it('no answer was 401, and the device still fetches commands', async () => {
  expect(app.logLines.filter(({ status }) => status === 401)).toEqual([]);
  expect((await device.idle()).status).toBe(200);
});
