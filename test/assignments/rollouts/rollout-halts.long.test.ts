import { failed, type ManagedDevice } from '../assignment-fixture.js';
import { minute, soak, stateOf, uploadVersion } from './rollout-fixture.js';
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
  it('halts by itself when its second stage fails; rolled back, every device has the former version', async () => {
    const id = await fleet.start({
      stages: fleet.stagesOf(2),
      halt_at: { failures: null, percent: 50 },
    });
    await fleet.carryOut();
    await soak(app, id, 30);
    await minute(app);
    const [, , ...second] = fleet.devices;
    await fleet.carryOut(second);
    expect(await fleet.items()).toEqual([...some(2, '2 verified'), ...some(6, '2 pending')]);
    const [line] = await minute(app);
    const reason =
      'version 2 failed on 6 of 8 devices that answered, in stage 2; the limit is 50 %. ' +
      'Most often: The payload is bad.';
    expect(line).toMatchObject({ level: 40, msg: 'a rollout has halted by itself', reason });
    const halted = { stage: 2, devices: 8, verified: 2, failed: 6 };
    expect(await stateOf(api, id)).toEqual({ state: 'halted', reason, ...halted });
    await fleet.carryOut();
    expect(await fleet.items()).toEqual([...some(2, '2 verified'), ...some(6, '1 verified')]);
    for (const device of second) expect(device.carriedOut.at(-1)).not.toBe('InstallProfile');
    await soak(app, id, 500);
    await minute(app);
    expect(await stateOf(api, id)).toEqual({ state: 'halted', reason, ...halted });
    expect((await api.post(`/rollouts/${id}/rollback`)).status).toBe(200);
    await fleet.carryOut();
    expect(await fleet.items()).toEqual(some(8, '1 verified'));
    expect((await fleet.auditOf(id)).map(([action, actor]) => [action, actor])).toEqual([
      ['rollouts.create', expect.any(String)],
      ['rollouts.advance', 'system'],
      ['rollouts.halt', 'system'],
      ['rollouts.rollback', expect.any(String)],
    ]);
  });

  it('halts at a number of failed devices, and continues when it is resumed', async () => {
    const halt_at = { failures: 2, percent: null };
    const id = await fleet.start({ stages: fleet.stagesOf(5), halt_at });
    await fleet.carryOut(fleet.devices.slice(0, 1));
    await minute(app);
    expect(await stateOf(api, id)).toMatchObject({ state: 'running', failed: 1, verified: 4 });
    await api.post(`/rollouts/${id}/rollback`);
    await fleet.carryOut();
    const again = await fleet.start({ stages: fleet.stagesOf(5), halt_at });
    await fleet.carryOut(fleet.devices.slice(0, 2));
    await minute(app);
    expect(await stateOf(api, again)).toMatchObject({
      state: 'halted',
      reason:
        'version 2 failed on 2 of 5 devices that answered, in stage 1; the limit is 2 devices. ' +
        'Most often: The payload is bad.',
    });
    await fleet.carryOut();
    await api.post(`/rollouts/${again}/resume`);
    await fleet.carryOut();
    await minute(app);
    expect(await stateOf(api, again)).toMatchObject({
      ...{ state: 'running', reason: null, failed: 0, verified: 5 },
    });
    expect(await fleet.items()).toEqual([...some(5, '2 verified'), ...some(3, '1 verified')]);
  });

  it('that halts by itself cancels at once what was not sent', async () => {
    const id = await fleet.start({
      stages: fleet.stagesOf(5),
      halt_at: { failures: 2, percent: null },
    });
    await fleet.reconciler.run();
    for (const device of fleet.devices.slice(0, 2)) {
      expect(await device.poll(() => failed('The payload is bad.'))).toEqual(['InstallProfile']);
    }
    await app.waitForReports();
    await fleet.reconciler.run();
    await minute(app);
    expect((await stateOf(api, id)).state).toBe('halted');
    const others = fleet.devices.slice(2, 5).map((device) => device.id);
    const sent = await app.db
      .knex('commands')
      .whereIn('device_id', others)
      .where({ request_type: 'InstallProfile' })
      .orderBy('id', 'desc')
      .limit(3)
      .select('status', 'is_pending');
    expect(sent).toEqual(some(3, '').map(() => ({ status: 'Cancelled', is_pending: false })));
  });

  it('that is resumed before a device was rolled back retries its failed devices', async () => {
    const halt_at = { failures: 2, percent: null };
    const id = await fleet.start({ stages: fleet.stagesOf(5), halt_at });
    const refusing = fleet.devices.slice(0, 2);
    await fleet.carryOut(refusing);
    const [given, retried] = refusing;
    const itemOf = (device?: ManagedDevice) =>
      app.db.knex('device_items').where({ profile_id: fleet.profileId, device_id: device?.id });
    await itemOf(given).update({ state: 'failed', attempts: 3, next_attempt_at: null });
    await itemOf(retried).update({ next_attempt_at: null });
    await app.db.knex('reconcile_marks').insert({ device_id: retried?.id });
    await fleet.reconciler.run();
    await retried?.wire.idle();
    expect(await itemOf(retried).first('action', 'attempts')).toEqual({
      action: 'install',
      attempts: 1,
    });
    await minute(app);
    expect(await stateOf(api, id)).toMatchObject({ state: 'halted', failed: 2 });
    await api.post(`/rollouts/${id}/resume`);
    await minute(app);
    expect(await stateOf(api, id)).toMatchObject({ state: 'running', reason: null, failed: 0 });
    await fleet.carryOut();
    expect(await fleet.items()).toEqual([...some(5, '2 verified'), ...some(3, '1 verified')]);
  });

  it('does not count a command that an admin has cancelled as a failure', async () => {
    const id = await fleet.start({
      stages: fleet.stagesOf(2),
      halt_at: { failures: 1, percent: null },
    });
    await fleet.reconciler.run();
    const [first] = fleet.devices;
    const where = { device_id: first?.id, request_type: 'InstallProfile', is_pending: true };
    const { id: command } = await app.db.knex('commands').where(where).first('id');
    const attributes = { status: 'Cancelled' };
    const patch = { data: { type: 'commands', id: command, attributes } };
    expect((await api.patch(`/commands/${command}`, patch)).status).toBe(200);
    await fleet.carryOut();
    await minute(app);
    expect(await fleet.items()).toEqual(['2 pending', '2 verified', ...some(6, '1 verified')]);
    expect(await stateOf(api, id)).toMatchObject({ state: 'running', verified: 1, failed: 0 });
  });

  it('that is halted cancels unsent commands, and keeps those that were sent', async () => {
    const id = await fleet.start({ stages: fleet.stagesOf(4) });
    await fleet.reconciler.run();
    const [first] = fleet.devices;
    const sent = await first?.wire.idle();
    expect(sent?.status).toBe(200);
    await api.post(`/rollouts/${id}/halt`);
    const commands = app.db.knex('commands').where({ request_type: 'InstallProfile' });
    const newest = await commands.orderBy('id', 'desc').limit(4).select('status', 'reason');
    expect(newest.map(({ status }) => status).sort()).toEqual([...some(3, 'Cancelled'), 'Sent']);
    expect(newest.find(({ status }) => status === 'Cancelled')?.reason).toBe(
      `rollout ${id} of version 2 does not go on`,
    );
    await fleet.carryOut();
    expect(await fleet.items()).toEqual(['2 verified', ...some(7, '1 verified')]);
    expect(await stateOf(api, id)).toMatchObject({ reason: 'halted by ADMIN_TOKEN' });
  });

  it('that is halted leaves a device its version when a value in it changes', async () => {
    await app.db.knex('devices').update({ asset_tag: 'A-1' });
    await uploadVersion(app, {
      identifier: fleet.identifier,
      ssid: '$ASSET_TAG',
      query: '?activate=false',
    });
    const id = await fleet.start({ version: 3, stages: fleet.stagesOf(2) });
    await fleet.carryOut();
    await api.post(`/rollouts/${id}/halt`);
    await fleet.carryOut();
    const ids = fleet.devices.map((device) => device.id);
    await app.db.knex('devices').update({ asset_tag: 'A-2' });
    for (const _ of ['queued', 'not sent yet']) {
      await app.db.knex('reconcile_marks').insert(ids.map((device_id) => ({ device_id })));
      await fleet.reconciler.run();
    }
    expect(await fleet.items()).toEqual([...some(2, '3 pending'), ...some(6, '1 verified')]);
    await fleet.carryOut();
    expect(await fleet.items()).toEqual([...some(2, '3 verified'), ...some(6, '1 verified')]);
  });

  it('that is halted installs the former version on a device that enrolls again', async () => {
    const id = await fleet.start({ stages: fleet.stagesOf(2) });
    await fleet.carryOut();
    await api.post(`/rollouts/${id}/halt`);
    await fleet.carryOut();
    const [first] = fleet.devices;
    const device = app.db.knex('devices').where({ id: first?.id });
    await device.update({ enrollment_number: app.db.knex.raw('enrollment_number + 1') });
    await fleet.carryOut();
    expect(await fleet.items()).toEqual(['1 verified', '2 verified', ...some(6, '1 verified')]);
  });
});
