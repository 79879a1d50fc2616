import { randomUUID } from 'node:crypto';
import { CommandQueue } from '../../src/commands/queue.js';
import { createDeviceSetupTask } from '../../src/setup-assistant/device-setup-task.js';
import { type DeviceSetupDeps, DeviceSetups } from '../../src/setup-assistant/device-setups.js';
import { uploadNodes } from '../api/profile-samples.js';
import { reconcilerOf } from '../assignments/assignment-fixture.js';
import { adminApi, type TestApp } from '../helpers/app.js';
import { commandIn, type Reply, type TestDevice } from '../helpers/device.js';
import { capturingLogger } from '../http/log-lines.js';
import { runTask } from '../jobs/tasks/run-task.js';
import { addRequest, certifiedFor, newUdid, signedRequest } from '../mdm/request-fixture.js';
import { type Members, payload, profile } from '../profiles/sample-profiles.js';

export const TIMEOUT = 15 * 60_000;
export const WAITING = { AwaitingConfiguration: true };

/** As the app has it; its task runs when a test says so. */
export function setupsOf(app: TestApp, overrides: Partial<DeviceSetupDeps> = {}): DeviceSetups {
  const { db, box } = app;
  return new DeviceSetups({
    db,
    queue: new CommandQueue(box),
    logger: capturingLogger().logger,
    timeout: TIMEOUT,
    reconciler: reconcilerOf(app),
    ...overrides,
  });
}

/** One run of the task, with no device held by a report. Returns what it logged. */
export async function runSetups(app: TestApp, overrides: Partial<DeviceSetupDeps> = {}) {
  await app.waitForReports();
  const { logger, lines } = capturingLogger();
  await runTask(createDeviceSetupTask({ setups: setupsOf(app, { logger, ...overrides }) }));
  return lines;
}

export async function idOf({ db }: TestApp, device: TestDevice): Promise<number> {
  const row = await db.knex('devices').whereRaw('lower(udid) = lower(?)', device.udid).first('id');
  return row.id;
}

/** The newest row of the device; undefined when it has none. */
export async function setupOf(app: TestApp, device: TestDevice) {
  return app.db
    .knex('device_setups')
    .where({ device_id: await idOf(app, device) })
    .orderBy('id', 'desc')
    .first();
}

/** One that has shown Apple's certificate, and whose identity was issued for that. */
export async function createProvedDevice(app: TestApp, udid = newUdid()): Promise<TestDevice> {
  const requestId = await addRequest(app, signedRequest({ udid }));
  return certifiedFor(app, { requestId }, { UDID: udid });
}

/** A record of a device that has yet to enroll, in the ways in which profiles are assigned. */
export async function createRecord(
  app: TestApp,
  by: 'tag' | 'group' | 'both',
  create: (app: TestApp) => Promise<TestDevice> = (given) => createProvedDevice(given),
) {
  const device = await create(app);
  const { knex } = app.db;
  const [{ id }] = await knex('devices').insert({ udid: device.udid }, 'id');
  const [tag] = await knex('tags').insert({ name: randomUUID() }, 'id');
  const [group] = await knex('device_groups').insert({ name: randomUUID() }, 'id');
  if (by !== 'group') await knex('device_tags').insert({ device_id: id, tag_id: tag.id });
  if (by !== 'tag') {
    await knex('device_group_devices').insert({ device_id: id, device_group_id: group.id });
  }
  const links = {
    tags: { data: [{ type: 'tags', id: tag.id }] },
    device_groups: { data: [{ type: 'device_groups', id: group.id }] },
  };
  return { device, links };
}

/** Uploads a profile and assigns it. Returns its identifier. */
export async function assignProfile(
  app: TestApp,
  relationships: object,
  members: Members = {},
): Promise<string> {
  const wifi = payload('com.apple.wifi.managed', { SSID_STR: 'Office', EncryptionType: 'None' });
  const uploaded = await uploadNodes(app, profile([wifi], members));
  if (uploaded.status !== 201) throw new Error(`the upload answered ${uploaded.status}`);
  const { id } = uploaded.body.data;
  const document = { data: { type: 'profiles', id, relationships } };
  const { status } = await adminApi(app).patch(`/profiles/${id}`, document);
  if (status !== 200) throw new Error(`the assignment answered ${status}`);
  return uploaded.body.data.attributes.identifier;
}

/** Waits a quarter of an hour. */
export async function letTimePass(app: TestApp, device: TestDevice): Promise<void> {
  const earlier = new Date(Date.now() - TIMEOUT);
  await app.db
    .knex('device_setups')
    .where({ device_id: await idOf(app, device) })
    .update({ started_at: earlier, due_at: earlier });
}

export function typeIn(reply: Reply): string | undefined {
  const type = commandIn(reply)?.command.RequestType;
  return type === undefined ? undefined : String(type);
}

/** Carries out what is offered until nothing is. Returns the request types in their order. */
export async function carryOut(
  device: TestDevice,
  answer: (requestType: string) => string = () => 'Acknowledged',
): Promise<string[]> {
  const types: string[] = [];
  let offered = commandIn(await device.idle());
  while (offered !== undefined) {
    const type = String(offered.command.RequestType);
    types.push(type);
    offered = commandIn(await device.report(offered.uuid, answer(type)));
  }
  return types;
}
