import {
  type AssignmentClaim,
  claimAssignments,
} from '../../../src/db/dep/dep-assignment-repository.js';
import { DepError } from '../../../src/dep/client/dep-error.js';
import { AssignmentWorld, DONE, MINUTE, U1, U2 } from './assignment-world.js';
import { everySuccess } from './fake-dep-service.js';

let world: AssignmentWorld;

beforeAll(async () => {
  world = await AssignmentWorld.create();
});
afterAll(() => world.stop());
beforeEach(() => world.reset());

describe('a due assignment', () => {
  it('is sent to Apple in one call for each definition, and stored in row and device', async () => {
    const other = await world.rows.profile(world.account, { uuid: U2 });
    const [a = 0, b = 0, c = 0] = await world.devices([
      'C02AAAAAAAA1',
      'C02AAAAAAAA2',
      'C02AAAAAAAA3',
    ]);
    await world.rows.give([a, c], world.profile);
    await world.rows.give([b], other);
    await world.send();
    expect(world.apple.calls).toEqual([
      [U1, ['C02AAAAAAAA1', 'C02AAAAAAAA3']],
      [U2, ['C02AAAAAAAA2']],
    ]);
    expect(await world.stateOf('C02AAAAAAAA2')).toEqual({ ...DONE, uuid: U2 });
    const device = await world.knex('devices').where({ id: b }).first();
    const row = await world.rows.one('C02AAAAAAAA2');
    expect([device.profile_uuid, device.profile_status, device.is_dep]).toEqual([
      U2,
      'assigned',
      true,
    ]);
    expect(row.profile_assign_time).toBeInstanceOf(Date);
    expect(device.profile_assign_time).toEqual(row.profile_assign_time);
    expect(
      world.log.lines.map(({ msg, assigned, removed, failed }) => [msg, assigned, removed, failed]),
    ).toEqual([['DEP profile assignments sent', 3, 0, 0]]);
    await world.send();
    expect(world.apple.calls).toHaveLength(2);
  });

  it('is sent in batches of a thousand, and stored batches stay stored', async () => {
    await world.knex.raw(
      `insert into dep_devices (dep_account_id, serial_number, listed_at)
       select ?, 'C02B' || to_char(n, 'FM00000000'), now() from generate_series(1, 2500) n`,
      [world.account],
    );
    await world.knex.raw(
      `insert into devices (serial_number, dep_profile_id)
       select serial_number, ? from dep_devices`,
      [world.profile],
    );
    world.apple.answer = (uuid, serials) => {
      if (world.apple.calls.length === 3) throw new DepError('throttled', 'later', { retryAt });
      return everySuccess(uuid, serials);
    };
    const retryAt = new Date(Date.now() + 10 * MINUTE);
    await world.send();
    expect(world.apple.calls.map(([uuid, serials]) => [uuid, serials.length])).toEqual([
      [U1, 1000],
      [U1, 1000],
      [U1, 500],
    ]);
    const left = world.knex('dep_devices').whereNotNull('assignment_due_at');
    expect(await left.pluck('assignment_due_at')).toEqual(Array(500).fill(retryAt));
    expect(world.jobs.asked).toEqual([['assign', world.account, retryAt]]);
    const assigned = world.knex('dep_devices').where({ profile_uuid: U1 }).count();
    expect(await assigned).toEqual([{ count: 2000 }]);
  });

  it('waits while its profile is not defined at Apple, and is not claimed', async () => {
    const pending = await world.rows.profile(world.account, { uuid: U2, status: 'pending' });
    const [a = 0] = await world.devices(['C02AAAAAAAA1']);
    await world.rows.give([a], pending);
    const before = await world.rows.one('C02AAAAAAAA1');
    await world.send();
    expect([world.apple.calls, await world.rows.one('C02AAAAAAAA1')]).toEqual([[], before]);
  });

  it('is skipped when Apple has removed the device, or the record was deleted', async () => {
    const [a = 0, b = 0] = await world.devices(['C02AAAAAAAA1', 'C02AAAAAAAA2']);
    await world.rows.give([a, b], world.profile);
    await world.knex('dep_devices').where({ device_id: a }).update({ removed_at: new Date() });
    await world.knex('devices').where({ id: b }).delete();
    await world.send();
    expect(world.apple.calls).toEqual([]);
  });
});

describe('a device without a serial number', () => {
  const bare = async () => {
    const row = { dep_profile_id: world.profile };
    return (await world.knex('devices').insert(row).returning('id'))[0].id;
  };
  const name = (id: number) =>
    world.knex('devices').where({ id }).update({ serial_number: 'C02AAAAAAAA1' });

  it('is sent to Apple once its profile is defined', async () => {
    const id = await bare();
    await world.send();
    await name(id);
    await world.send();
    expect(world.apple.calls).toEqual([[U1, ['C02AAAAAAAA1']]]);
  });

  it('gets one also when its profile has lost its account', async () => {
    const id = await bare();
    await world.knex('dep_profiles').update({ dep_account_id: null });
    await name(id);
    expect(await world.knex('dep_devices')).toEqual([]);
  });
});

describe('a device whose desired profile is none', () => {
  it('has the profile of this server unassigned', async () => {
    const [a = 0] = await world.devices(['C02AAAAAAAA1']);
    await world.rows.give([a], world.profile);
    await world.send();
    await world.rows.give([a], null);
    await world.send();
    expect(world.apple.calls).toEqual([
      [U1, ['C02AAAAAAAA1']],
      [null, ['C02AAAAAAAA1']],
    ]);
    expect(await world.stateOf('C02AAAAAAAA1')).toEqual({
      ...DONE,
      status: 'removed',
      stage: 'unassigned',
      uuid: null,
      error: null,
    });
    const device = await world.knex('devices').where({ id: a }).first();
    expect([device.profile_uuid, device.profile_status, device.profile_assign_time]).toEqual([
      null,
      'removed',
      null,
    ]);
  });

  it('keeps a profile that another server assigned', async () => {
    const foreign = { profile_uuid: U2, profile_status: 'pushed' };
    const [a = 0] = await world.devices(['C02AAAAAAAA1'], foreign);
    await world.rows.give([a], world.profile);
    await world.rows.give([a], null);
    await world.send();
    expect(world.apple.calls).toEqual([]);
    expect(await world.rows.one('C02AAAAAAAA1')).toMatchObject({
      ...foreign,
      assignment_due_at: null,
      auto_assign: false,
    });
  });

  it('keeps its profile when the desired one is of another account', async () => {
    const other = await world.rows.account();
    const elsewhere = await world.rows.profile(other, { uuid: U2 });
    const [a = 0] = await world.devices(['C02AAAAAAAA1'], { profile_uuid: U1 });
    await world.rows.give([a], elsewhere);
    await world.knex('dep_devices').update({ assignment_due_at: new Date() });
    await world.send();
    expect(world.apple.calls).toEqual([]);
  });
});

describe('a desired profile that changes during the call', () => {
  it('stays due, and the result at Apple is stored', async () => {
    const other = await world.rows.profile(world.account, { uuid: U2 });
    const [a = 0] = await world.devices(['C02AAAAAAAA1']);
    await world.rows.give([a], world.profile);
    world.apple.answer = async (uuid, serials) => {
      if (uuid === U1) await world.rows.give([a], other);
      return everySuccess(uuid, serials);
    };
    await world.send();
    expect(world.apple.calls.map(([uuid]) => uuid)).toEqual([U1, U2]);
    expect(await world.stateOf('C02AAAAAAAA1')).toEqual({ ...DONE, uuid: U2 });
  });

  it('stays due also when it changes back to the former one', async () => {
    const [a = 0] = await world.devices(['C02AAAAAAAA1']);
    await world.rows.give([a], world.profile);
    world.apple.answer = async (uuid, serials) => {
      if (world.apple.calls.length === 1) {
        await world.rows.give([a], null);
        await world.rows.give([a], world.profile);
      }
      return everySuccess(uuid, serials);
    };
    await world.send();
    expect(world.apple.calls.map(([uuid]) => uuid)).toEqual([U1, U1]);
  });
});

it('a profile that Apple has removed meanwhile stays removed', async () => {
  const [a = 0] = await world.devices(['C02AAAAAAAA1']);
  await world.rows.give([a], world.profile);
  const removed = { removed_at: new Date(), assignment_due_at: null };
  world.apple.answer = async (uuid, serials) => {
    await world.knex('dep_devices').update(removed);
    return everySuccess(uuid, serials);
  };
  await world.send();
  expect(await world.rows.one('C02AAAAAAAA1')).toMatchObject({
    ...removed,
    profile_uuid: null,
    assignment_result: null,
  });
});

describe('an assignment whose outcome was not stored', () => {
  it('is sent again once the claim has ended', async () => {
    const [a = 0] = await world.devices(['C02AAAAAAAA1']);
    await world.rows.give([a], world.profile);
    const claim = (): Promise<AssignmentClaim> =>
      claimAssignments(world.knex, { accountId: world.account, limit: 1000 });
    const { until, rows: claimed } = await claim();
    expect(claimed.map(({ serial, action, uuid }) => [serial, action, uuid])).toEqual([
      ['C02AAAAAAAA1', 'assign', U1],
    ]);
    expect(Math.round((until.getTime() - Date.now()) / MINUTE)).toBe(2);
    await world.send();
    expect([(await claim()).rows, world.apple.calls]).toEqual([[], []]);
    await world.knex('dep_devices').update({ assignment_due_at: new Date() });
    await world.send();
    expect(world.apple.calls).toHaveLength(1);
  });

  it('is sent by one of several processes', async () => {
    const serials = Array.from({ length: 40 }, (_, n) => `C02TWO${10 + n}`);
    await world.rows.give(await world.devices(serials), world.profile);
    await Promise.all([world.send(), world.send(), world.send()]);
    expect(world.apple.calls.flatMap(([, given]) => given).sort()).toEqual(serials);
  });
});
