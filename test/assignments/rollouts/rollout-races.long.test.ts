import { randomUUID } from 'node:crypto';
import { lockDevices } from '../../../src/db/assignments/marks.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { addProfile, failed, ManagedDevice, reconcilerOf } from '../assignment-fixture.js';
import { type Api, minute, soak, startRollout, stateOf, uploadVersion } from './rollout-fixture.js';

const DEVICES = 50;

let app: TestApp;
let api: Api;
let devices: ManagedDevice[];
let profileId: number;
let identifier: string;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  devices = await Promise.all(Array.from({ length: DEVICES }, () => ManagedDevice.enroll(app)));
  await Promise.all(devices.map((device) => device.poll()));
}, 60_000);
afterAll(() => app.stop());
beforeEach(async () => {
  ({ id: profileId, identifier } = await addProfile(app, { PayloadIdentifier: randomUUID() }));
  await app.db.knex('assignments').insert({ profile_id: profileId, all_devices: true });
  await carryOut();
  await uploadVersion(app, { identifier, ssid: 'Guests', query: '?activate=false' });
}, 60_000);
afterEach(async () => {
  await app.db.knex('profiles').delete();
  await carryOut();
}, 60_000);

type Refuses = (device: ManagedDevice) => boolean;

/** Devices poll while two processes reconcile and both look at the rollouts. */
async function carryOut(refuses: Refuses = () => false): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await app.waitForReports();
    const two = [reconcilerOf(app), reconcilerOf(app)];
    await Promise.all([...two.map((one) => one.run()), minute(app), minute(app)]);
    await Promise.all(devices.map((device) => device.poll(answerOf(device, refuses))));
  }
  await app.waitForReports();
  await reconcilerOf(app).run();
  await minute(app);
}

function answerOf(device: ManagedDevice, refuses: Refuses) {
  return ({ RequestType }: Record<string, unknown>) =>
    RequestType === 'InstallProfile' && refuses(device) ? failed('No room.') : undefined;
}

/** What the devices themselves have: the UUIDs of the profile, and who has which. */
function installed(): Map<string, Set<number>> {
  const holders = new Map<string, Set<number>>();
  for (const { id, profiles } of devices) {
    const uuid = String(profiles.get(identifier.toLowerCase())?.PayloadUUID);
    holders.set(uuid, (holders.get(uuid) ?? new Set()).add(id));
  }
  return holders;
}

async function inStage(percent: number): Promise<Set<number>> {
  const sql = 'select id from devices where rollout_position(id, ?) < ?';
  const { rows } = await app.db.knex.raw<{ rows: { id: number }[] }>(sql, [
    profileId,
    percent * 100,
  ]);
  return new Set(rows.map(({ id }) => id));
}

const stages = [10, 40, 100].map((percent) => ({ percent, soak_minutes: 60 }));

describe('a rollout to a hundred devices, over two processes', () => {
  it('only adds devices of the stage, and rolls all of them back', async () => {
    const [former] = [...installed().keys()];
    const id = await startRollout(api, profileId, { stages });
    for (const { percent } of stages) {
      await carryOut();
      const expected = await inStage(percent);
      const holders = installed();
      holders.delete(String(former));
      expect([...holders.values()]).toEqual([expected]);
      expect(await stateOf(api, id)).toMatchObject({
        state: 'running',
        devices: expected.size,
        verified: expected.size,
      });
      if (percent < 100) await soak(app, id, 60);
    }
    expect((await api.post(`/rollouts/${id}/rollback`)).status).toBe(200);
    await carryOut();
    expect([...installed().keys()]).toEqual([former]);
    expect(installed().get(String(former))?.size).toBe(DEVICES);
    const left = await app.db.knex('device_items').whereNot({ state: 'verified' }).select('id');
    expect(left).toEqual([]);
  }, 120_000);

  it('halts in its second stage when that fails, and no further device gets the version', async () => {
    const id = await startRollout(api, profileId, { stages });
    await carryOut();
    const first = await inStage(10);
    await soak(app, id, 60);
    await carryOut(({ id: device }) => !first.has(device));
    const second = await inStage(40);
    const count = second.size - first.size;
    const { state, reason, stage } = await stateOf(api, id);
    expect({ state, stage }).toEqual({ state: 'halted', stage: 2 });
    expect(reason).toBe(
      `version 2 failed on ${count} of ${second.size} devices that answered, in stage 2; the limit ` +
        `is ${count >= 25 ? '25 devices' : '10 %'}. Most often: No room.`,
    );
    await carryOut();
    const versions = await app.db
      .knex('device_items')
      .where({ profile_id: profileId, state: 'verified' })
      .select('device_id', 'version');
    const having = versions.filter(({ version }) => version === 2);
    expect(new Set(having.map(({ device_id }) => device_id))).toEqual(first);
    expect(versions.length).toBe(DEVICES);
    const unsent = app.db.knex('commands').where({ request_type: 'InstallProfile', sent_at: null });
    expect(await unsent.where({ is_pending: true }).select('id')).toEqual([]);
  }, 120_000);

  it('that halts while a process queues its commands gets them cancelled', async () => {
    const id = await startRollout(api, profileId, { stages: stages.slice(2) });
    const ids = devices.map((device) => device.id);
    await app.db.knex.transaction(async (trx) => {
      const locked = await lockDevices(trx, ids);
      const { changed } = await reconcilerOf(app).reconcile(trx, { deviceIds: locked });
      expect(changed).toBe(DEVICES);
      expect((await api.post(`/rollouts/${id}/halt`)).status).toBe(200);
    });
    const unsent = () =>
      app.db
        .knex('commands')
        .where({ request_type: 'InstallProfile', sent_at: null, is_pending: true })
        .select('id');
    expect((await unsent()).length).toBe(DEVICES);
    await reconcilerOf(app).run();
    expect(await unsent()).toEqual([]);
    await carryOut();
    for (const device of devices) expect(device.carriedOut.at(-1)).toBe('ProfileList');
    const items = await app.db.knex('device_items').distinct('version', 'state').select();
    expect(items).toEqual([{ version: 1, state: 'verified' }]);
  }, 120_000);
});
