import { addTag, type ManagedDevice } from '../assignment-fixture.js';
import { minute, soak, stateOf } from './rollout-fixture.js';
import { Fleet, some } from './rollout-fleet.js';

let fleet: Fleet;
let app: Fleet['app'];
let api: Fleet['api'];

beforeAll(async () => {
  fleet = await Fleet.open();
  ({ app, api } = fleet);
});
afterAll(() => app.stop());
beforeEach(() => fleet.begin());
afterEach(() => fleet.end());

describe('a rollout', () => {
  it('installs the version on the devices of its stage, then on all, and makes it the current one', async () => {
    const id = await fleet.start({ stages: fleet.stagesOf(2, 5) });
    await fleet.carryOut();
    expect(await fleet.items()).toEqual([...some(2, '2 verified'), ...some(6, '1 verified')]);
    await minute(app);
    expect(await stateOf(api, id)).toEqual({
      ...{ state: 'running', reason: null, stage: 1 },
      ...{ devices: 2, verified: 2, failed: 0 },
    });
    await soak(app, id, 30);
    const [line] = await minute(app);
    expect(line).toMatchObject({
      msg: 'a rollout has come to its next stage',
      rolloutId: id,
      stage: 2,
    });
    await fleet.carryOut();
    expect(await fleet.items()).toEqual([...some(5, '2 verified'), ...some(3, '1 verified')]);
    await soak(app, id, 30);
    await minute(app);
    await fleet.carryOut();
    expect(await fleet.items()).toEqual(some(8, '2 verified'));
    await soak(app, id, 30);
    await minute(app);
    expect(await stateOf(api, id)).toEqual({
      ...{ state: 'finished', reason: null, stage: 3 },
      ...{ devices: 8, verified: 8, failed: 0 },
    });
    const columns = ['current_version', 'active_version'];
    expect(await app.db.knex('profiles').where({ id: fleet.profileId }).first(columns)).toEqual({
      current_version: 2,
      active_version: null,
    });
    for (const device of fleet.devices) device.carriedOut.length = 0;
    await fleet.carryOut();
    expect(fleet.devices.flatMap(({ carriedOut }) => carriedOut)).toEqual([]);
    expect(await fleet.auditOf(id)).toEqual([
      ['rollouts.create', expect.any(String), undefined],
      ['rollouts.advance', 'system', { stage: [1, 2] }],
      ['rollouts.advance', 'system', { stage: [2, 3] }],
      ['rollouts.advance', 'system', { state: ['running', 'finished'] }],
    ]);
  });

  it('waits while no device of its stage has the version, and while all is paused', async () => {
    const id = await fleet.start({ stages: fleet.stagesOf(2) });
    await soak(app, id, 30);
    await minute(app);
    expect((await stateOf(api, id)).reason).toBe(
      'commands for devices of the stage are still being queued',
    );
    await fleet.reconciler.run();
    await minute(app);
    expect(await stateOf(api, id)).toMatchObject({
      ...{ stage: 1, devices: 2, verified: 0 },
      reason: 'none of the 2 devices that stage 1 added has version 2 yet',
    });
    await fleet.carryOut();
    await app.db.knex('profiles').where({ id: fleet.profileId }).update({ paused_at: new Date() });
    await minute(app);
    expect((await stateOf(api, id)).reason).toBe(
      'the profile or the reconciler is paused: resume it',
    );
    await app.db.knex('profiles').where({ id: fleet.profileId }).update({ paused_at: null });
    await fleet.reconciler.run();
    await minute(app);
    expect(await stateOf(api, id)).toMatchObject({ stage: 2, reason: null });
  });

  it('starts with devices that have its first tag, whatever their position', async () => {
    const last = fleet.devices.at(-1) as ManagedDevice;
    const firstTag = await addTag(app, last);
    const [, all] = fleet.stagesOf(1);
    const id = await fleet.start({ stages: [{ percent: 0, soak_minutes: 30 }, all], firstTag });
    await fleet.carryOut();
    expect(await fleet.items()).toEqual([...some(7, '1 verified'), '2 verified']);
    await minute(app);
    expect(await stateOf(api, id)).toMatchObject({ devices: 1, verified: 1 });
    await app.db.knex('device_tags').where({ tag_id: firstTag }).delete();
    await fleet.carryOut();
    expect(await fleet.items()).toEqual([...some(7, '1 verified'), '2 verified']);
  });

  it('installs the former version on a device that gets the item outside of the stage', async () => {
    await fleet.start({ stages: fleet.stagesOf(1) });
    await app.db.knex('assignments').where({ profile_id: fleet.profileId }).delete();
    await fleet.carryOut();
    expect(await fleet.items()).toEqual(some(8, 'undefined undefined'));
    await app.db.knex('assignments').insert({ profile_id: fleet.profileId, all_devices: true });
    await fleet.carryOut();
    expect(await fleet.items()).toEqual(['2 verified', ...some(7, '1 verified')]);
  });

  it('can install an older version, too', async () => {
    const forth = await fleet.start({ stages: [{ percent: 100, soak_minutes: 0 }] });
    await fleet.carryOut();
    await minute(app);
    expect((await stateOf(api, forth)).state).toBe('finished');
    const back = await fleet.start({ version: 1, stages: [{ percent: 100, soak_minutes: 0 }] });
    await fleet.carryOut();
    await minute(app);
    expect((await stateOf(api, back)).state).toBe('finished');
    expect(await fleet.items()).toEqual(some(8, '1 verified'));
    const profile = await app.db
      .knex('profiles')
      .where({ id: fleet.profileId })
      .first('active_version');
    expect(profile).toEqual({ active_version: 1 });
  });
});

describe('the task of two processes', () => {
  it('advances a stage once, not twice', async () => {
    const stages = [1, 2, 3].map((percent) => ({ percent, soak_minutes: 1 }));
    const all = { percent: 100, soak_minutes: 1 };
    const id = await fleet.start({ stages: [...stages, all] });
    await fleet.carryOut();
    await soak(app, id, 1);
    await Promise.all([minute(app), minute(app), minute(app)]);
    expect((await stateOf(api, id)).stage).toBe(2);
    expect((await fleet.auditOf(id)).length).toBe(2);
  });

  it('skips a rollout that another process has locked', async () => {
    const id = await fleet.start({ stages: [{ percent: 100, soak_minutes: 0 }] });
    await fleet.carryOut();
    await app.db.knex.transaction(async (trx) => {
      await trx('rollouts').where({ id }).forUpdate().first('id');
      expect(await minute(app)).toEqual([]);
    });
    expect((await stateOf(api, id)).state).toBe('running');
    await minute(app);
    expect((await stateOf(api, id)).state).toBe('finished');
  });
});
