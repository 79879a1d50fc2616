import {
  type AssignmentClaim,
  claimAssignments,
} from '../../../src/db/dep/dep-assignment-repository.js';
import { DepError } from '../../../src/dep/client/dep-error.js';
import { AssignmentFixture, DONE, MINUTE, U1, U2 } from './assignment-fixture.js';
import { everySuccess } from './fake-dep-service.js';

let fixture: AssignmentFixture;

beforeAll(async () => {
  fixture = await AssignmentFixture.create();
});
afterAll(() => fixture.stop());
beforeEach(() => fixture.reset());

describe('a due assignment', () => {
  it('is sent to Apple in one call for each definition, and stored in row and device', async () => {
    const other = await fixture.rows.profile(fixture.account, { uuid: U2 });
    const [a = 0, b = 0, c = 0] = await fixture.devices([
      'C02AAAAAAAA1',
      'C02AAAAAAAA2',
      'C02AAAAAAAA3',
    ]);
    await fixture.rows.give([a, c], fixture.profile);
    await fixture.rows.give([b], other);
    await fixture.send();
    expect(fixture.apple.calls).toEqual([
      [U1, ['C02AAAAAAAA1', 'C02AAAAAAAA3']],
      [U2, ['C02AAAAAAAA2']],
    ]);
    expect(await fixture.stateOf('C02AAAAAAAA2')).toEqual({ ...DONE, uuid: U2 });
    const device = await fixture.knex('devices').where({ id: b }).first();
    const row = await fixture.rows.one('C02AAAAAAAA2');
    expect([device.profile_uuid, device.profile_status, device.is_dep]).toEqual([
      U2,
      'assigned',
      true,
    ]);
    expect(row.profile_assign_time).toBeInstanceOf(Date);
    expect(device.profile_assign_time).toEqual(row.profile_assign_time);
    expect(
      fixture.log.lines.map(({ msg, assigned, removed, failed }) => [
        msg,
        assigned,
        removed,
        failed,
      ]),
    ).toEqual([['DEP profile assignments sent', 3, 0, 0]]);
    await fixture.send();
    expect(fixture.apple.calls).toHaveLength(2);
  });

  it('is sent in batches of a thousand, and stored batches stay stored', async () => {
    await fixture.knex.raw(
      `insert into dep_devices (dep_account_id, serial_number, listed_at)
       select ?, 'C02B' || to_char(n, 'FM00000000'), now() from generate_series(1, 2500) n`,
      [fixture.account],
    );
    await fixture.knex.raw(
      `insert into devices (serial_number, dep_profile_id)
       select serial_number, ? from dep_devices`,
      [fixture.profile],
    );
    fixture.apple.answer = (uuid, serials) => {
      if (fixture.apple.calls.length === 3) throw new DepError('throttled', 'later', { retryAt });
      return everySuccess(uuid, serials);
    };
    const retryAt = new Date(Date.now() + 10 * MINUTE);
    await fixture.send();
    expect(fixture.apple.calls.map(([uuid, serials]) => [uuid, serials.length])).toEqual([
      [U1, 1000],
      [U1, 1000],
      [U1, 500],
    ]);
    const left = fixture.knex('dep_devices').whereNotNull('assignment_due_at');
    expect(await left.pluck('assignment_due_at')).toEqual(Array(500).fill(retryAt));
    expect(fixture.jobs.asked).toEqual([['assign', fixture.account, retryAt]]);
    const assigned = fixture.knex('dep_devices').where({ profile_uuid: U1 }).count();
    expect(await assigned).toEqual([{ count: 2000 }]);
  });

  it('waits while its profile is not defined at Apple, and is not claimed', async () => {
    const pending = await fixture.rows.profile(fixture.account, { uuid: U2, status: 'pending' });
    const [a = 0] = await fixture.devices(['C02AAAAAAAA1']);
    await fixture.rows.give([a], pending);
    const before = await fixture.rows.one('C02AAAAAAAA1');
    await fixture.send();
    expect([fixture.apple.calls, await fixture.rows.one('C02AAAAAAAA1')]).toEqual([[], before]);
  });

  it('is skipped when Apple has removed the device, or the record was deleted', async () => {
    const [a = 0, b = 0] = await fixture.devices(['C02AAAAAAAA1', 'C02AAAAAAAA2']);
    await fixture.rows.give([a, b], fixture.profile);
    await fixture.knex('dep_devices').where({ device_id: a }).update({ removed_at: new Date() });
    await fixture.knex('devices').where({ id: b }).delete();
    await fixture.send();
    expect(fixture.apple.calls).toEqual([]);
  });
});

describe('a device without a serial number', () => {
  const bare = async () => {
    const row = { dep_profile_id: fixture.profile };
    return (await fixture.knex('devices').insert(row).returning('id'))[0].id;
  };
  const name = (id: number) =>
    fixture.knex('devices').where({ id }).update({ serial_number: 'C02AAAAAAAA1' });

  it('is sent to Apple once its profile is defined', async () => {
    const id = await bare();
    await fixture.send();
    await name(id);
    await fixture.send();
    expect(fixture.apple.calls).toEqual([[U1, ['C02AAAAAAAA1']]]);
  });

  it('gets one also when its profile has lost its account', async () => {
    const id = await bare();
    await fixture.knex('dep_profiles').update({ dep_account_id: null });
    await name(id);
    expect(await fixture.knex('dep_devices')).toEqual([]);
  });
});

describe('a device whose desired profile is none', () => {
  it('has the profile of this server unassigned', async () => {
    const [a = 0] = await fixture.devices(['C02AAAAAAAA1']);
    await fixture.rows.give([a], fixture.profile);
    await fixture.send();
    await fixture.rows.give([a], null);
    await fixture.send();
    expect(fixture.apple.calls).toEqual([
      [U1, ['C02AAAAAAAA1']],
      [null, ['C02AAAAAAAA1']],
    ]);
    expect(await fixture.stateOf('C02AAAAAAAA1')).toEqual({
      ...DONE,
      status: 'removed',
      stage: 'unassigned',
      uuid: null,
      error: null,
    });
    const device = await fixture.knex('devices').where({ id: a }).first();
    expect([device.profile_uuid, device.profile_status, device.profile_assign_time]).toEqual([
      null,
      'removed',
      null,
    ]);
  });

  it('keeps a profile that another server assigned', async () => {
    const foreign = { profile_uuid: U2, profile_status: 'pushed' };
    const [a = 0] = await fixture.devices(['C02AAAAAAAA1'], foreign);
    await fixture.rows.give([a], fixture.profile);
    await fixture.rows.give([a], null);
    await fixture.send();
    expect(fixture.apple.calls).toEqual([]);
    expect(await fixture.rows.one('C02AAAAAAAA1')).toMatchObject({
      ...foreign,
      assignment_due_at: null,
      auto_assign: false,
    });
  });

  it('keeps its profile when the desired one is of another account', async () => {
    const other = await fixture.rows.account();
    const elsewhere = await fixture.rows.profile(other, { uuid: U2 });
    const [a = 0] = await fixture.devices(['C02AAAAAAAA1'], { profile_uuid: U1 });
    await fixture.rows.give([a], elsewhere);
    await fixture.knex('dep_devices').update({ assignment_due_at: new Date() });
    await fixture.send();
    expect(fixture.apple.calls).toEqual([]);
  });
});

describe('a desired profile that changes during the call', () => {
  it('stays due, and the result at Apple is stored', async () => {
    const other = await fixture.rows.profile(fixture.account, { uuid: U2 });
    const [a = 0] = await fixture.devices(['C02AAAAAAAA1']);
    await fixture.rows.give([a], fixture.profile);
    fixture.apple.answer = async (uuid, serials) => {
      if (uuid === U1) await fixture.rows.give([a], other);
      return everySuccess(uuid, serials);
    };
    await fixture.send();
    expect(fixture.apple.calls.map(([uuid]) => uuid)).toEqual([U1, U2]);
    expect(await fixture.stateOf('C02AAAAAAAA1')).toEqual({ ...DONE, uuid: U2 });
  });

  it('stays due also when it changes back to the former one', async () => {
    const [a = 0] = await fixture.devices(['C02AAAAAAAA1']);
    await fixture.rows.give([a], fixture.profile);
    fixture.apple.answer = async (uuid, serials) => {
      if (fixture.apple.calls.length === 1) {
        await fixture.rows.give([a], null);
        await fixture.rows.give([a], fixture.profile);
      }
      return everySuccess(uuid, serials);
    };
    await fixture.send();
    expect(fixture.apple.calls.map(([uuid]) => uuid)).toEqual([U1, U1]);
  });
});

it('a profile that Apple has removed meanwhile stays removed', async () => {
  const [a = 0] = await fixture.devices(['C02AAAAAAAA1']);
  await fixture.rows.give([a], fixture.profile);
  const removed = { removed_at: new Date(), assignment_due_at: null };
  fixture.apple.answer = async (uuid, serials) => {
    await fixture.knex('dep_devices').update(removed);
    return everySuccess(uuid, serials);
  };
  await fixture.send();
  expect(await fixture.rows.one('C02AAAAAAAA1')).toMatchObject({
    ...removed,
    profile_uuid: null,
    assignment_result: null,
  });
});

describe('an assignment whose outcome was not stored', () => {
  it('is sent again once the claim has ended', async () => {
    const [a = 0] = await fixture.devices(['C02AAAAAAAA1']);
    await fixture.rows.give([a], fixture.profile);
    const claim = (): Promise<AssignmentClaim> =>
      claimAssignments(fixture.knex, { accountId: fixture.account, limit: 1000 });
    const { until, rows: claimed } = await claim();
    expect(claimed.map(({ serial, action, uuid }) => [serial, action, uuid])).toEqual([
      ['C02AAAAAAAA1', 'assign', U1],
    ]);
    expect(Math.round((until.getTime() - Date.now()) / MINUTE)).toBe(2);
    await fixture.send();
    expect([(await claim()).rows, fixture.apple.calls]).toEqual([[], []]);
    await fixture.knex('dep_devices').update({ assignment_due_at: new Date() });
    await fixture.send();
    expect(fixture.apple.calls).toHaveLength(1);
  });

  it('is sent by one of several processes', async () => {
    const serials = Array.from({ length: 40 }, (_, n) => `C02TWO${10 + n}`);
    await fixture.rows.give(await fixture.devices(serials), fixture.profile);
    await Promise.all([fixture.send(), fixture.send(), fixture.send()]);
    expect(fixture.apple.calls.flatMap(([, given]) => given).sort()).toEqual(serials);
  });
});
