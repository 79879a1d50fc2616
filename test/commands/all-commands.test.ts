import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { requestTypes } from '../../src/protocol/apple/command-schema.js';
import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type TestDevice } from '../helpers/device.js';

interface Golden {
  requestType: string;
  platform: string;
  osVersion: string;
  forUser?: boolean;
  isAppleSilicon?: boolean;
  parameters: Record<string, unknown>;
  /** With one fault. */
  invalid: Record<string, unknown>;
  /** A system that has the command no longer, or not yet. */
  lost: { platform: string; osVersion: string };
  /** The keys that only Macs have. */
  onMac?: { platform: string; osVersion: string; parameters: Record<string, unknown> };
}

const USER = { UserID: 'F1B2C3D4-0000-4000-8000-000000000000', UserShortName: 'ada' };
const COMMANDS = JSON.parse(
  readFileSync(join(__dirname, '../fixtures/golden/commands.json'), 'utf8'),
) as Golden[];

let app: TestApp;
let device: TestDevice;
let id: number;
let userId: number;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  device = await (await createTestDevice(app)).enroll();
  await device.tokenUpdate({ ...USER, UserLongName: 'Ada' });
  ({ id } = await app.db.knex('devices').where({ udid: device.udid }).first('id'));
  ({ id: userId } = await app.db.knex('device_users').where({ device_id: id }).first('id'));
});
afterAll(() => app.stop());

/** What the device has reported, and nothing else that waits for it. */
async function reports({ platform, osVersion, isAppleSilicon = true }: DeviceFacts): Promise<void> {
  await app.db.knex('device_secrets').whereNotNull('command_id').delete();
  await app.db.knex('commands').delete();
  await app.db.knex('devices').where({ id }).update({
    platform,
    os_version: osVersion,
    is_supervised: true,
    is_apple_silicon: isAppleSilicon,
    enrollment_method: 'automated',
  });
}

interface DeviceFacts {
  platform: string;
  osVersion: string;
  isAppleSilicon?: boolean | undefined;
}

/** Queues the golden command; its bytes as the device gets them, and whether they are stored sealed. */
async function sentBytes(golden: Golden): Promise<string> {
  await reports(golden);
  const { status, data, errors } = await queue(golden, golden.parameters);
  expect([status, errors]).toEqual([201, undefined]);
  const reply = await device.idle(golden.forUser ? USER : {});
  expect(commandIn(reply)?.uuid).toBe(data.attributes.uuid);
  const { payload } = await app.db.knex('commands').where({ id: data.id }).first('payload');
  const sent = reply.body.toString('utf8').replace(data.attributes.uuid, 'COMMAND-UUID');
  return `${payload !== null && SecretBox.isSealed(payload) ? 'sealed' : 'plain'}\n${sent}`;
}

async function queue({ requestType, forUser }: Golden, parameters: Record<string, unknown>) {
  const document = commandDocument(id, requestType, { parameters });
  if (forUser) {
    const user = { data: { type: 'device_users', id: userId } };
    Object.assign(document.data.relationships, { user });
  }
  const { status, body } = await adminApi(app).post('/commands', document);
  return { status, data: body.data, errors: body.errors };
}

it('lists each of Apple’s commands once', () => {
  const listed = COMMANDS.map(({ requestType }) => requestType);
  expect(listed).toEqual([...requestTypes()].sort((a, b) => (a < b ? -1 : 1)));
  expect(listed).toHaveLength(68);
});

describe.each(COMMANDS)('$requestType', (golden) => {
  it('is sent to the device as the bytes that Apple defines', async () => {
    expect(await sentBytes(golden)).toMatchSnapshot();
  });

  it('is refused with a fault and its place', async () => {
    await reports(golden);
    const { status, errors } = await queue(golden, golden.invalid);
    expect(status).toBe(422);
    expect(shown(errors)).toMatchSnapshot();
    expect(await app.db.knex('commands')).toEqual([]);
  });

  it('is refused for a system that does not support it', async () => {
    await reports({ ...golden, ...golden.lost });
    const { status, errors } = await queue(golden, golden.parameters);
    expect(status).toBe(422);
    const { platform, osVersion } = golden.lost;
    expect([`${platform} ${osVersion}`, ...shown(errors)]).toMatchSnapshot();
    expect(await app.db.knex('commands')).toEqual([]);
  });
});

const ON_MACS = COMMANDS.flatMap(({ onMac, ...golden }) =>
  onMac === undefined ? [] : [{ ...golden, ...onMac }],
);

describe.each(ON_MACS)('$requestType with the keys that only Macs have', (golden) => {
  it('is sent to a Mac as the bytes that Apple defines', async () => {
    expect(await sentBytes(golden)).toMatchSnapshot();
  });

  it('is refused for an iPhone, key by key', async () => {
    await reports({ platform: 'iOS', osVersion: '27.0' });
    const { status, errors } = await queue(golden, golden.parameters);
    expect(status).toBe(422);
    expect(shown(errors)).toMatchSnapshot();
    expect(await app.db.knex('commands')).toEqual([]);
  });
});

function shown(errors: { code: string; detail: string; source?: { pointer: string } }[]): string[] {
  return errors.map(
    ({ code, detail, source }) =>
      `${source?.pointer ?? ''} ${code}: ${detail.replaceAll(`device ${id}`, 'device ID')}`,
  );
}
