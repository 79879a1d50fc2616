import { OneOffProfiles } from '../../src/assignments/one-off-profiles.js';
import { ProfilePayloads } from '../../src/assignments/profile-payloads.js';
import { CommandQueue } from '../../src/commands/queue.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { ProfileRebuild } from '../../src/profiles/profile-rebuild.js';
import { uploadNodes } from '../api/profile-samples.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { capturingLogger } from '../http/log-lines.js';
import { dict, payload, profile } from '../profiles/sample-profiles.js';
import { addProfile, ManagedDevice, reconcilerOf } from './assignment-fixture.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
let reconciler: ReturnType<typeof reconcilerOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  reconciler = reconcilerOf(app);
});
afterAll(() => app.stop());
afterEach(async () => {
  for (const table of ['devices', 'profiles']) await app.db.knex(table).delete();
  await reconciler.run();
});

async function enrolled(): Promise<ManagedDevice> {
  const device = await ManagedDevice.enroll(app);
  await device.poll();
  await app.waitForReports();
  return device;
}

const ids = (...of: ManagedDevice[]) => ({ device_ids: of.map(({ id }) => id) });

/** Rows of devices that never ask. Returns their ids. */
async function devices(count: number): Promise<number[]> {
  const { rows } = await app.db.knex.raw<{ rows: { id: number }[] }>(
    `insert into devices (udid, enrollment_state, is_enrolled)
     select gen_random_uuid()::text, 'enrolled', true from generate_series(1, ?::integer) returning id`,
    [count],
  );
  return rows.map(({ id }) => id);
}

/** As another process has it, whose signatures have other bytes. */
function ofProcess(name: string): OneOffProfiles {
  const { box } = app;
  const { logger } = capturingLogger();
  const profiles = new ProfileRebuild({ box, sign: () => undefined });
  const sign = (file: Buffer) => Buffer.concat([file, Buffer.from(`<!-- ${name} -->`)]);
  const payloads = new ProfilePayloads({ box, logger, profiles, sign });
  return new OneOffProfiles({ queue: new CommandQueue(box), payloads, credentialPauseMs: 200 });
}

describe('a profile that is installed by the ids of devices', () => {
  it('queues no second command where the same one is under way, also by two requests at once', async () => {
    const [one, other] = [await enrolled(), await enrolled()];
    const { id } = await addProfile(app);
    const first = await api.post(`/profiles/${id}/install`, ids(one));
    const [waiting] = first.body.data.attributes.command_ids;
    const answers = await Promise.all(
      [1, 2, 3].map(() => api.post(`/profiles/${id}/install`, ids(one, other))),
    );
    const shown = answers.map(({ body }) => body.data.attributes);
    expect(shown.map(({ queued, under_way }) => [queued, under_way]).sort()).toEqual([
      [0, 2],
      [0, 2],
      [1, 1],
    ]);
    const [of] = await app.db
      .knex('commands')
      .where({ device_id: other.id })
      .whereNotNull('payload_sha256');
    for (const { command_ids } of shown) expect(command_ids).toEqual([waiting, of.id]);
    expect(await one.poll()).toEqual(['InstallProfile']);
    const again = await api.post(`/profiles/${id}/install`, ids(one));
    expect(again.body.data.attributes).toMatchObject({ queued: 1, under_way: 0 });
  });

  it('is under way where an assignment has queued it', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    await app.db.knex('assignments').insert({ profile_id: id, device_id: device.id });
    await reconciler.run();
    const { body } = await api.post(`/profiles/${id}/install`, ids(device));
    const [item] = await app.db.knex('device_items').where({ device_id: device.id });
    expect(body.data.attributes).toEqual({
      ...{ queued: 0, under_way: 1, command_ids: [Number(item.command_id)] },
    });
    expect(await device.poll()).toEqual(['InstallProfile']);
  });

  it('is under way where another process has signed it', async () => {
    const [deviceId = 0] = await devices(1);
    const { id: profileId } = await addProfile(app);
    const install = (name: string) =>
      inTransaction(app.db, (trx) =>
        ofProcess(name).install(trx, { profileId, deviceIds: [deviceId] }),
      );
    const [first] = await install('one');
    expect(first?.was_under_way).toBe(false);
    expect(await install('other')).toEqual([
      { id: first?.id, device_id: first?.device_id, was_under_way: true },
    ]);
    const { id } = await app.db.knex('profile_versions').where({ profile_id: profileId }).first();
    const payloads = await app.db.knex('command_payloads').where({ profile_version_id: id });
    expect(payloads).toHaveLength(2);
  });

  it('is queued again behind its removal', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app, { PayloadIdentifier: 'com.example.a&b' });
    for (const verb of ['install', 'remove', 'install']) {
      const { body } = await api.post(`/profiles/${id}/${verb}`, ids(device));
      expect([verb, body.data.attributes.queued]).toEqual([verb, 1]);
    }
    expect(await device.poll()).toEqual(['InstallProfile', 'RemoveProfile', 'InstallProfile']);
    expect(device.profiles.size).toBe(1);
  });

  it('is queued again behind another version of it', async () => {
    const [device] = await devices(1);
    const PayloadIdentifier = 'com.example.versions';
    const { id } = await addProfile(app, { PayloadIdentifier }, 'one');
    const install = async () => {
      const { body } = await api.post(`/profiles/${id}/install`, { device_ids: [device] });
      return body.data.attributes.queued;
    };
    expect(await install()).toBe(1);
    await addProfile(app, { PayloadIdentifier }, 'two');
    expect([await install(), await install()]).toEqual([1, 0]);
    await addProfile(app, { PayloadIdentifier }, 'one');
    expect([await install(), await install()]).toEqual([1, 0]);
  });

  it('is queued again when a command for it has expired', async () => {
    const [device] = await devices(1);
    const { id } = await addProfile(app);
    const install = () => api.post(`/profiles/${id}/install`, { device_ids: [device] });
    await install();
    await app.db.knex('commands').update({ expires_at: new Date(0) });
    expect((await install()).body.data.attributes).toMatchObject({ queued: 1, under_way: 0 });
  });

  it('waits for the limit of profiles that fetch a credential', async () => {
    const device_ids = await devices(8);
    const scep = payload('com.apple.security.scep', {
      PayloadContent: dict({ URL: 'https://scep.example.com', Challenge: 'x' }),
    });
    const { body } = await uploadNodes(app, profile([scep]));
    expect((await api.post(`/profiles/${body.data.id}/install`, { device_ids })).status).toBe(202);
    const waiting = await app.db
      .knex('commands')
      .where({ request_type: 'InstallProfile' })
      .orderBy('id')
      .pluck<(Date | null)[]>('after');
    const { next_credential_at: next } = await app.db.knex('reconciler_state').first();
    // 300 a minute; within a second at once.
    expect(waiting.slice(0, 5)).toEqual([null, null, null, null, null]);
    expect(next.getTime() - Number(waiting[7] ?? 0)).toBe(200);
    const again = await api.post(`/profiles/${body.data.id}/install`, { device_ids });
    expect(again.body.data.attributes).toMatchObject({ queued: 0, under_way: 8 });
  });

  it.each(['install', 'remove'])(
    'takes as many statements for 1,000 devices as for one: %s',
    async (verb) => {
      const { id } = await addProfile(app);
      const [first = 0, second = 0, ...many] = await devices(1_002);
      const count = async (device_ids: number[]) => {
        let statements = 0;
        const note = () => {
          statements += 1;
        };
        app.db.knex.on('query', note);
        const { status, body } = await api.post(`/profiles/${id}/${verb}`, { device_ids });
        app.db.knex.removeListener('query', note);
        expect([status, body.data.attributes.queued]).toEqual([202, device_ids.length]);
        return statements;
      };
      await count([first]);
      const ofOne = await count([second]);
      expect(ofOne).toBeGreaterThan(3);
      expect(await count(many)).toBe(ofOne);
    },
  );
});
