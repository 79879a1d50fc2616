import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildPlist } from '../../src/protocol/plist/plist.js';
import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import { commandIn } from '../helpers/device.js';
import { statementsOf } from '../helpers/statements.js';
import { enrolledTarget, type Target } from './deliver.js';

const NO_UUID = '00000000-0000-0000-0000-000000000000';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  await app.container.announce();
});
afterAll(() => app.stop());
beforeEach(async () => {
  await app.db.knex('commands').delete();
  await app.db.knex('command_payloads').delete();
});

/** All that decides whether a device accepts a command: such a command is queued by one statement. */
const FACTS = {
  platform: 'iOS',
  os_version: '18.0',
  is_supervised: true,
  is_multi_user: false,
  enrollment_type: 'device',
};

async function knownTarget(): Promise<Target> {
  const target = await enrolledTarget(app);
  await app.db.knex('devices').where({ id: target.id }).update(FACTS);
  return target;
}

interface Payload {
  PayloadType: string;
  [key: string]: string | number | boolean | Buffer;
}

/** A configuration profile as a file. */
function profile(payload: Payload): Buffer {
  const common = (part: string) => ({
    PayloadIdentifier: `com.example.${part}`,
    PayloadUUID: `00000000-1111-2222-3333-${part.padEnd(12, '0').slice(0, 12)}`,
    PayloadVersion: 1,
  });
  return buildPlist({
    ...common('profile'),
    PayloadType: 'Configuration',
    PayloadDisplayName: 'Wallboard',
    PayloadContent: [{ ...common('payload'), ...payload }],
  });
}

const webClip = (Icon: Buffer) =>
  profile({
    PayloadType: 'com.apple.webClip.managed',
    URL: 'https://example.com/board',
    Label: 'Board',
    Icon,
  });

function wire(uuid: string, command: Record<string, Buffer | string>): Buffer {
  return buildPlist({ Command: command, CommandUUID: uuid });
}

async function queue(
  { id }: Target,
  Payload: Buffer,
  headers: Record<string, string> = {},
): Promise<{ id: number; uuid: string; parameters: unknown }> {
  const parameters = { Payload: Payload.toString('base64') };
  const document = commandDocument(id, 'InstallProfile', { parameters });
  const { status, body } = await adminApi(app).post('/commands', document).set(headers);
  expect([status, body.errors]).toEqual([201, undefined]);
  const { uuid, parameters: shown } = body.data.attributes;
  return { id: body.data.id, uuid, parameters: shown };
}

const stored = () => app.db.knex('command_payloads').select('sha256', 'body', 'size');

async function bytesIn(table: string): Promise<number> {
  const { rows } = await app.db.knex.raw('select pg_total_relation_size(?::regclass) as size', [
    table,
  ]);
  return Number(rows[0].size);
}

async function columnsOf(id: number) {
  return app.db.knex('commands').where({ id }).first('payload', 'payload_sha256');
}

describe('a profile of 200 KB without secrets', () => {
  const file = webClip(randomBytes(150_000));
  const command = { Payload: file, RequestType: 'InstallProfile' };

  it('is stored once for 200 devices, and each receives its own exact bytes', async () => {
    expect(file.length).toBeGreaterThan(200_000);
    const target = await knownTarget();
    const rows = Array.from({ length: 199 }, () => ({ enrollment_state: 'enrolled', ...FACTS }));
    const others = await app.db.knex('devices').insert(rows).returning('id');
    const before = await bytesIn('commands');
    const first = await queue(target, file);
    for (const { id } of others) await queue({ ...target, id }, file);
    const body = wire(NO_UUID, command);
    const sha256 = createHash('sha256').update(body).digest();
    expect(await stored()).toEqual([{ sha256, body, size: body.length }]);
    expect(await columnsOf(first.id)).toEqual({ payload: null, payload_sha256: sha256 });
    const ids = await app.db.knex('commands').pluck('id');
    expect([ids.length, (await bytesIn('commands')) - before < 300_000]).toEqual([200, true]);
    expect(await bytesIn('command_payloads')).toBeLessThan(500_000);
    const devices = [target, ...(await enrolled(4))];
    for (const one of devices.slice(1)) await queue(one, file);
    for (const { id, device } of devices) {
      const { uuid } = await app.db.knex('commands').where({ device_id: id }).first('uuid');
      expect((await device.idle()).body.equals(wire(uuid, command))).toBe(true);
      // Offered again: the process has the bytes by now.
      expect((await device.idle()).body.equals(wire(uuid, command))).toBe(true);
      expect((await device.report(uuid, 'Acknowledged')).status).toBe(200);
    }
  });

  it('is shown by its names and size only, to the one who queues it and to the reader', async () => {
    const target = await knownTarget();
    const summary = {
      PayloadIdentifier: 'com.example.profile',
      PayloadUUID: '00000000-1111-2222-3333-profile00000',
      PayloadDisplayName: 'Wallboard',
      size: file.length,
    };
    const queued = await queue(target, file);
    expect(queued.parameters).toEqual({ Payload: summary });
    const withKey = await queue(target, file, { 'Idempotency-Key': 'once' });
    const again = await queue(target, file, { 'Idempotency-Key': 'once' });
    expect([again.id, again.parameters]).toEqual([withKey.id, { Payload: summary }]);
    const { body } = await adminApi(app).get(`/commands/${queued.id}`);
    expect(body.data.attributes.parameters).toEqual({ Payload: summary });
    const list = await adminApi(app).get(
      `/devices/${target.id}/commands?fields[commands]=parameters`,
    );
    const shown = list.body.data.map(({ attributes }: { attributes: object }) => attributes);
    expect(shown).toEqual([
      { parameters: { Payload: summary } },
      { parameters: { Payload: summary } },
    ]);
    expect(await stored()).toHaveLength(1);
  });

  it('is not sent to the database again by the process that stored it', async () => {
    const target = await knownTarget();
    const other = webClip(randomBytes(2_000));
    const creates = async () => {
      const sent = await statementsOf(app.db, () => queue(target, other));
      return sent.filter((sql) => sql.includes('insert into "commands"'));
    };
    const [first, ...more] = await creates();
    const [second, ...rest] = await creates();
    expect([more, rest]).toEqual([[], []]);
    expect(first).toContain('insert into command_payloads');
    expect(second).not.toContain('insert into command_payloads');
    const sent = await statementsOf(app.db, () => target.device.idle());
    // Besides what the server does by itself meanwhile, as writing when devices were last seen.
    const ofDevice = sent.filter(
      (sql) => !/reconcil|server_processes|smart_group_marks|device_clocks/.test(sql),
    );
    const [exchange, ...others] = ofDevice;
    expect([exchange?.slice(0, 11), others]).toEqual(['with sender', []]);
  });

  it('moves to another device with its command', async () => {
    const [from, to] = (await enrolled(2)) as [Target, Target];
    const { id, uuid } = await queue(from, file);
    const linkage = { data: [{ type: 'commands', id }] };
    const path = `/devices/${to.id}/relationships/commands`;
    expect((await adminApi(app).post(path, linkage)).status).toBe(200);
    expect((await to.device.idle()).body.equals(wire(uuid, command))).toBe(true);
    expect(commandIn(await from.device.idle())).toBeUndefined();
  });

  it('is stored again when it was removed since this process stored it', async () => {
    const target = await knownTarget();
    const { id } = await queue(target, file);
    expect((await adminApi(app).delete(`/commands/${id}`)).status).toBe(204);
    expect(await app.db.knex('command_payloads').delete()).toBe(1);
    const sent = await statementsOf(app.db, () => queue(target, file));
    expect(sent.filter((sql) => sql.includes('insert into "command'))).toHaveLength(3);
    expect(await stored()).toHaveLength(1);
    const { uuid } = await app.db.knex('commands').where({ device_id: target.id }).first('uuid');
    expect((await target.device.idle()).body.equals(wire(uuid, command))).toBe(true);
  });
});

describe('a payload that is being removed when a command of it is queued', () => {
  it.each([
    ['this process stored', true],
    ['another process stored', false],
  ])('and that %s is stored again', async (_name, isKnown) => {
    const target = await knownTarget();
    const file = webClip(randomBytes(2_000));
    const command = { Payload: file, RequestType: 'InstallProfile' };
    const body = wire(NO_UUID, command);
    const sha256 = createHash('sha256').update(body).digest();
    if (isKnown) {
      await queue(target, file);
      await app.db.knex('commands').delete();
    } else await app.db.knex('command_payloads').insert({ sha256, body });
    const removing = await app.db.knex.transaction();
    expect(await removing('command_payloads').where({ sha256 }).delete()).toBe(1);
    const queued = queue(target, file);
    const isOver = await Promise.race([queued.then(() => true), sleep(300).then(() => false)]);
    expect(isOver).toBe(false);
    await removing.commit();
    const { uuid } = await queued;
    expect(await stored()).toEqual([{ sha256, body, size: body.length }]);
    expect((await target.device.idle()).body.equals(wire(uuid, command))).toBe(true);
  });
});

describe('a payload is not shared', () => {
  it('when its profile has a secret: each device has its own, sealed', async () => {
    const secret = 'correct horse battery staple';
    const file = profile({
      PayloadType: 'com.apple.wifi.managed',
      SSID_STR: 'Office',
      Password: secret,
      AutoJoin: true,
      EncryptionType: 'WPA2',
      PayloadDescription: 'x'.repeat(5_000),
    });
    const targets = await enrolled(2);
    for (const target of targets) await queue(target, file);
    expect(await stored()).toEqual([]);
    const rows = await app.db.knex('commands').select('payload', 'payload_sha256');
    expect(rows).toHaveLength(2);
    const readable = [secret, file.toString('base64').slice(200, 260)];
    for (const { payload, payload_sha256 } of rows) {
      expect(payload_sha256).toBeNull();
      for (const text of readable) expect(payload.includes(text)).toBe(false);
    }
    for (const { id, device } of targets) {
      const { uuid } = await app.db.knex('commands').where({ device_id: id }).first('uuid');
      const sent = wire(uuid, { Payload: file, RequestType: 'InstallProfile' });
      expect((await device.idle()).body.equals(sent)).toBe(true);
    }
  });

  it('when it is small', async () => {
    const target = await knownTarget();
    const parameters = { Queries: ['DeviceName'] };
    const document = commandDocument(target.id, 'DeviceInformation', { parameters });
    expect((await adminApi(app).post('/commands', document)).status).toBe(201);
    expect(await stored()).toEqual([]);
  });
});

it('a large command without secrets is shared whatever its type, and read back whole', async () => {
  const targets = await enrolled(2);
  const Queries = Array.from({ length: 60 }, (_, index) => `com.example.application.${index}`);
  for (const { id } of targets) {
    const parameters = { Identifiers: Queries };
    const document = commandDocument(id, 'InstalledApplicationList', { parameters });
    const { status, body } = await adminApi(app).post('/commands', document);
    expect([status, body.data.attributes.parameters]).toEqual([201, parameters]);
    const read = await adminApi(app).get(`/commands/${body.data.id}`);
    expect(read.body.data.attributes.parameters).toEqual(parameters);
  }
  expect(await stored()).toHaveLength(1);
  for (const { device } of targets) {
    const sent = commandIn(await device.idle());
    expect(sent?.command.Identifiers).toEqual(Queries);
  }
});

it('the inventory of devices of one kind is stored once, and each gets its own bytes', async () => {
  const targets = await enrolled(2);
  for (const { id } of targets) {
    expect((await adminApi(app).post(`/devices/inventory/${id}`)).status).toBe(201);
  }
  const bodies = new Map((await stored()).map(({ sha256, body }) => [String(sha256), body]));
  expect(bodies.size).toBe(6);
  for (const { id, device } of targets) {
    const rows = await app.db.knex('commands').where({ device_id: id }).orderBy('id');
    expect(rows.map(({ payload }) => payload)).toEqual([null, null, null, null, null, null]);
    const { uuid, payload_sha256 } = rows[0];
    const body = String(bodies.get(String(payload_sha256)));
    expect((await device.idle()).body.toString()).toBe(body.replace(NO_UUID, uuid));
  }
});

describe('in an upgrade', () => {
  it.each([
    ['while a process runs that cannot send it', true],
    ['before the first heartbeat', false],
  ])('a payload is not shared %s', async (_name, isAnnounced) => {
    const shared = app;
    app = await startApp({ isSweeping: false });
    const former = { id: randomUUID(), role: 'web', hostname: 'a', pid: 1, version: '0.9' };
    await app.db.knex('server_processes').insert(former);
    if (isAnnounced) await app.container.announce();
    const target = await knownTarget();
    const file = webClip(randomBytes(2_000));
    const { id, uuid } = await queue(target, file);
    expect(await stored()).toEqual([]);
    const { payload } = await columnsOf(id);
    expect(payload.includes(file.toString('base64').slice(200, 260))).toBe(false);
    const sent = wire(uuid, { Payload: file, RequestType: 'InstallProfile' });
    expect((await target.device.idle()).body.equals(sent)).toBe(true);
    await app.stop();
    app = shared;
  });
});

function enrolled(count: number): Promise<Target[]> {
  return Promise.all(Array.from({ length: count }, knownTarget));
}
