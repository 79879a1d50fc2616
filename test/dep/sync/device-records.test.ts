import type { ListedDevice } from '../../../src/dep/client/dep-api.js';
import { ASSIGNED, listing, page, type SyncFixture, startSyncFixture } from './sync-fixture.js';

const SERIAL = 'C02AAAAAAAA1';
const U1 = '11111111-1111-4111-8111-111111111111';
const U2 = '22222222-2222-4222-8222-222222222222';
const AT = new Date('2026-05-01T10:00:00Z');

let fixture: SyncFixture;
beforeAll(async () => {
  fixture = await startSyncFixture();
});
beforeEach(() => fixture.reset());
afterAll(() => fixture.database.drop());

/** A full fetch that lists these; in what follows changes only. */
async function fetched(...devices: ListedDevice[]): Promise<void> {
  await fixture.knex('dep_accounts').where({ id: 1 }).update({ cursor: null });
  fixture.answers(page(devices));
  await fixture.sync();
}

async function changed(accountId: number, ...devices: ListedDevice[]): Promise<void> {
  const known = { cursor: 'c1', sync_phase: 'delta' };
  await fixture.knex('dep_accounts').where({ id: accountId }).update(known);
  fixture.answers(page(devices, { cursor: 'c2' }));
  await fixture.sync(accountId);
}

function op(opType: 'added' | 'modified' | 'deleted', minute: number, members = {}) {
  const opDate = new Date(Date.UTC(2026, 5, 1, 8, minute));
  return listing(SERIAL, { opType, opDate, ...members });
}

async function add(table: string, row: object): Promise<number> {
  const [added] = await fixture.knex(table).insert(row).returning<{ id: number }[]>('id');
  return added?.id ?? 0;
}

const addDevice = (row: object) => add('devices', { serial_number: SERIAL, ...row });
const enrolled = (udid: string) => ({
  udid,
  is_enrolled: true,
  enrollment_state: 'enrolled',
  enrolled_at: AT,
});
const addProfile = (dep_account_id = 1) =>
  add('dep_profiles', {
    profile_name: 'p',
    url: 'https://mdm.example.com/dep/enroll',
    dep_account_id,
  });
const row = (dep_account_id = 1) =>
  fixture.knex('dep_devices').where({ dep_account_id, serial_number: SERIAL }).first();
const record = (id: number) => fixture.knex('devices').where({ id }).first();

const PROFILE = {
  profileUuid: U1,
  profileStatus: 'assigned',
  profileAssignTime: AT,
  profilePushTime: null,
};
const MIRRORED = {
  model: 'MacBook Pro 14"',
  description: 'MBP 14 SLV',
  color: 'SILVER',
  os: 'OSX',
  asset_tag: 'A-7',
  device_family: 'Mac',
  device_assigned_by: 'abm@example.com',
  device_assigned_date: ASSIGNED,
  profile_uuid: U1,
  profile_status: 'assigned',
  profile_assign_time: AT,
  profile_push_time: null,
};

const NO_PROFILE = { profile_uuid: null, profile_status: 'empty', profile_assign_time: null };

describe('a device that Apple lists', () => {
  it('gets a record, and a row with the data of Apple', async () => {
    await fetched(listing(SERIAL, { ...PROFILE, assetTag: 'A-7' }));
    const { id, device_id, created_at, listed_at, told_at, ...columns } = await row();
    expect(columns).toEqual({
      dep_account_id: 1,
      serial_number: SERIAL,
      ...MIRRORED,
      op_type: null,
      op_date: null,
      fetch_number: 1,
      removed_at: null,
      contacted_at: null,
      is_enrolled: false,
      enrolled_at: null,
      auto_assign: true,
      assignment_due_at: null,
      assignment_attempts: 0,
      assignment_result: null,
      assignment_at: null,
      activation_lock_result: null,
      activation_lock_at: null,
      disown_result: null,
      disowned_at: null,
      last_error: null,
      last_error_at: null,
      stage: 'assigned',
      by_default: false,
    });
    expect(id).toBeGreaterThan(0);
    expect(listed_at).toEqual(created_at);
    expect(told_at).toEqual(created_at);
    const devices = await fixture.knex('devices');
    expect(devices).toHaveLength(1);
    expect(devices[0]).toMatchObject({
      id: device_id,
      serial_number: SERIAL,
      is_dep: true,
      enrollment_state: 'dep',
      ...MIRRORED,
      udid: null,
      is_enrolled: false,
      dep_profile_id: null,
    });
  });

  it('belongs to the enrolled record of its serial number, else to one that was enrolled, else to the oldest', async () => {
    const ids = [];
    for (const facts of [{}, {}, { udid: 'u1' }, { udid: 'u2' }, enrolled('u3')]) {
      ids.push(await addDevice(facts));
    }
    const found = [];
    for (const gone of [ids[4], ids[2], ids[3], ids[0]]) {
      await fetched(listing(SERIAL));
      found.push((await row()).device_id);
      await fixture.knex('devices').where({ id: gone }).delete();
    }
    expect(found).toEqual([ids[4], ids[2], ids[3], ids[0]]);
    await fetched(listing(SERIAL));
    expect((await row()).device_id).toBe(ids[1]);
    expect(await fixture.knex('devices')).toHaveLength(1);
  });

  it.each<[string, object]>([
    ['of a clone of a virtual Mac', { ...enrolled('u1'), product_name: 'VirtualMac2,1' }],
    ['of another serial number', { ...enrolled('u1'), serial_number: SERIAL.toLowerCase() }],
  ])('does not belong to a record %s', async (_, facts) => {
    const other = await addDevice(facts);
    await fetched(listing(SERIAL));
    expect((await row()).device_id).not.toBe(other);
    expect(await record(other)).toMatchObject({ is_dep: false });
  });

  it('keeps the values that Apple leaves out, and takes over the others', async () => {
    const own = { description: 'mine', asset_tag: 'B-1', model: 'Mac16,1', color: 'BLUE' };
    const id = await addDevice({ ...enrolled('u1'), ...own, device_name: 'Desk' });
    await fetched(listing(SERIAL, { ...PROFILE, color: null, assetTag: null }));
    expect(await record(id)).toMatchObject({
      ...MIRRORED,
      asset_tag: 'B-1',
      model: 'Mac16,1',
      color: 'BLUE',
      is_dep: true,
      enrollment_state: 'enrolled',
      device_name: 'Desk',
    });
    const linked = { device_id: id, is_enrolled: true, enrolled_at: AT, stage: 'enrolled' };
    expect(await row()).toMatchObject({ ...linked, asset_tag: null, color: null });
  });

  it('shows that it enrolled or unenrolled since, and a later page does not undo it', async () => {
    await fetched(listing(SERIAL));
    const { device_id: id } = await row();
    await fixture.knex('devices').where({ id }).update(enrolled('u1'));
    await changed(1, op('modified', 1));
    expect(await row()).toMatchObject({ is_enrolled: true, enrolled_at: AT });
    await fixture.knex('devices').where({ id }).update({ is_enrolled: false });
    await changed(1, op('modified', 2));
    expect(await row()).toMatchObject({ is_enrolled: false, enrolled_at: AT });
    // Wiped, it fetches its profile again.
    const [profileStatus, profilePushTime] = ['pushed', new Date('2026-05-02T10:00:00Z')];
    await changed(1, op('modified', 3, { ...PROFILE, profileStatus, profilePushTime }));
    expect(await row()).toMatchObject({ stage: 'pushed', profile_push_time: profilePushTime });
    expect(await record(id)).toMatchObject({ profile_push_time: profilePushTime });
  });

  it('keeps its desired profile, and does not become due', async () => {
    const dep_profile_id = await addProfile();
    await fetched(listing(SERIAL));
    const { device_id: id } = await row();
    await fixture.knex('devices').where({ id }).update({ dep_profile_id });
    await fixture.knex('dep_devices').update({ assignment_due_at: null });
    await changed(1, op('modified', 1, PROFILE));
    expect(await row()).toMatchObject({ profile_uuid: U1, assignment_due_at: null });
    expect(await record(id)).toMatchObject({ dep_profile_id, profile_uuid: U1 });
  });

  it('keeps a profile that was assigned here after the page was asked for', async () => {
    await fetched(listing(SERIAL));
    const ours = { profile_uuid: U2, profile_status: 'assigned', profile_assign_time: AT };
    fixture.answers(async () => {
      await fixture.knex('dep_devices').update({ ...ours, assignment_at: fixture.knex.fn.now() });
      await fixture.knex('devices').update(ours);
      return page([op('modified', 1, { color: 'BLACK' })]);
    });
    await fixture.sync();
    expect(await row()).toMatchObject({ ...ours, color: 'BLACK' });
    expect(await fixture.knex('devices').first()).toMatchObject({ ...ours, color: 'BLACK' });
    await changed(1, op('modified', 2, PROFILE));
    expect(await row()).toMatchObject({ profile_uuid: U1 });
  });

  it('ignores an operation that is older than the stored one', async () => {
    await changed(1, op('modified', 5, { color: 'BLACK' }));
    await changed(1, op('modified', 4, { color: 'WHITE' }), op('deleted', 3));
    const last = { color: 'BLACK', op_type: 'modified', op_date: op('modified', 5).opDate };
    expect(await row()).toMatchObject({ ...last, removed_at: null });
  });

  it('gets another record when an admin has deleted it', async () => {
    await fetched(listing(SERIAL));
    await fixture.knex('devices').delete();
    await changed(1, op('modified', 1));
    const { device_id } = await row();
    expect(await record(device_id)).toMatchObject({ serial_number: SERIAL, is_dep: true });
  });

  it('is stored after an enrollment under way, whose result it shows', async () => {
    const { asset_tag: _, ...listed } = { ...MIRRORED, ...NO_PROFILE };
    const known = { is_dep: true, enrollment_state: 'authenticated', ...listed };
    const id = await addDevice({ udid: 'u1', ...known });
    const enrollment = await fixture.knex.transaction();
    await enrollment('devices').where({ id }).update(enrolled('u1'));
    fixture.answers(page([listing(SERIAL)]));
    const syncing = fixture.sync();
    const waits = async () => {
      const { rows } = await fixture.knex.raw(`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`);
      return rows.length > 0;
    };
    while (!(await waits())) await new Promise((resolve) => setImmediate(resolve));
    await enrollment.commit();
    await syncing;
    expect(await row()).toMatchObject({ device_id: id, is_enrolled: true, enrolled_at: AT });
  });
});

describe('a device that Apple removes from the account', () => {
  it('stays as history, and has no desired profile any more', async () => {
    const dep_profile_id = await addProfile();
    await fetched(listing(SERIAL, PROFILE));
    const { device_id: id } = await row();
    await fixture
      .knex('devices')
      .where({ id })
      .update({ ...enrolled('u1'), dep_profile_id });
    await fixture.knex('dep_devices').update({ last_error: 'it failed', last_error_at: AT });
    await changed(1, op('deleted', 7));
    const deleted = await row();
    expect(deleted).toMatchObject({
      op_type: 'deleted',
      op_date: op('deleted', 7).opDate,
      stage: 'removed',
      device_id: id,
      profile_uuid: null,
      profile_status: 'removed',
      profile_assign_time: AT,
      assignment_due_at: null,
      last_error: null,
      last_error_at: null,
      model: MIRRORED.model,
    });
    expect(deleted.removed_at).toEqual(deleted.told_at);
    expect(await record(id)).toMatchObject({
      is_dep: false,
      dep_profile_id,
      profile_uuid: null,
      profile_status: 'removed',
      is_enrolled: true,
      enrollment_state: 'enrolled',
      udid: 'u1',
      model: MIRRORED.model,
    });
    expect(fixture.log.lines.at(-1)).toMatchObject({ added: 0, removed: 1, devices: 1 });
  });

  it('leaves nothing when it was never listed here', async () => {
    await changed(1, op('deleted', 1));
    expect(await fixture.knex('dep_devices')).toEqual([]);
    expect(await fixture.knex('devices')).toEqual([]);
  });

  it('is removed once, however often Apple reports it', async () => {
    await changed(1, op('added', 1));
    await changed(1, op('deleted', 2));
    const { removed_at } = await row();
    await changed(1, op('deleted', 3));
    expect(await row()).toMatchObject({ removed_at, op_date: op('deleted', 3).opDate });
    expect(await fixture.knex('devices').first()).toMatchObject({
      is_dep: false,
      enrollment_state: null,
    });
  });

  const back = { removed_at: null, op_type: 'added', stage: 'unassigned' };
  const errors = { last_error: null, assignment_result: null, assignment_attempts: 0 };

  it.each([
    ['on one page', [[op('added', 1), op('deleted', 2), op('added', 3)]]],
    ['on one page, in any order', [[op('added', 3), op('deleted', 2), op('added', 1)]]],
    ['over pages', [[op('added', 1)], [op('deleted', 2)], [op('added', 3)]]],
  ])('is present again when Apple adds it again: %s', async (_, pages) => {
    for (const devices of pages) {
      await changed(1, ...devices);
      await fixture.knex('dep_devices').update({ assignment_result: null });
    }
    expect(await row()).toMatchObject({ ...back, ...errors, op_date: op('added', 3).opDate });
    const device = { is_dep: true, enrollment_state: 'dep', profile_status: 'empty' };
    expect(await fixture.knex('devices')).toMatchObject([device]);
  });

  it('has no former results when Apple adds it again, and is shown as enrolled if it is', async () => {
    await changed(1, op('added', 1));
    const { device_id: id } = await row();
    const former = { assignment_result: 'FAILED', assignment_attempts: 3 };
    await fixture.knex('dep_devices').update(former);
    await changed(1, op('deleted', 2));
    await fixture.knex('devices').where({ id }).update(enrolled('u1'));
    await changed(1, op('added', 3));
    expect(await row()).toMatchObject({ ...back, ...errors, is_enrolled: true, stage: 'enrolled' });
  });

  it('is present again when a full fetch lists it', async () => {
    await changed(1, op('deleted', 2), op('added', 1));
    await changed(1, op('added', 3));
    await changed(1, op('deleted', 4));
    await fetched(listing(SERIAL));
    expect(await row()).toMatchObject({ ...back, op_type: null, op_date: null });
  });
});

describe('a device that two accounts have', () => {
  const later = { deviceAssignedDate: new Date('2026-04-01T08:00:00Z') };
  const theirs = { ...later, profileUuid: U2, profileStatus: 'assigned' };
  let other: number;
  beforeEach(async () => {
    other = await fixture.addAccount({ consumer_key: 'CK_2' });
  });

  it('shows the data of the account it was assigned to last, in whatever order they sync', async () => {
    await changed(1, op('added', 1, PROFILE));
    await changed(other, op('added', 1, theirs));
    await changed(1, op('modified', 2, { ...PROFILE, color: 'WHITE' }));
    expect(await row()).toMatchObject({ profile_uuid: U1, color: 'WHITE' });
    expect(await fixture.knex('devices')).toMatchObject([{ profile_uuid: U2, color: 'SILVER' }]);
  });

  it('keeps is_dep when one of them loses it, without the profile of that one', async () => {
    const dep_profile_id = await addProfile();
    await changed(1, op('added', 1, PROFILE));
    const { device_id: id } = await row();
    await fixture.knex('devices').where({ id }).update({ dep_profile_id });
    await changed(other, op('added', 1, theirs));
    await fixture.knex.raw('delete from graphile_worker._private_jobs');
    await changed(1, op('deleted', 2));
    expect(await record(id)).toMatchObject({
      is_dep: true,
      enrollment_state: 'dep',
      dep_profile_id: null,
      profile_uuid: U2,
      profile_status: 'assigned',
      device_assigned_date: later.deviceAssignedDate,
    });
    const untouched = { auto_assign: true, assignment_due_at: null, removed_at: null };
    expect(await row(other)).toMatchObject(untouched);
    expect(await row()).toMatchObject({ stage: 'removed' });
    const keys = (await fixture.jobs()).map(({ key }) => key);
    expect(new Set(keys)).toEqual(new Set(['dep.reconcile/1', `dep.reconcile/${other}`]));
  });

  it('keeps a profile of the account that still lists it', async () => {
    const dep_profile_id = await addProfile(other);
    await changed(1, op('added', 1, PROFILE));
    await changed(other, op('added', 1, theirs));
    await fixture.knex('devices').update({ dep_profile_id });
    await changed(1, op('deleted', 2));
    expect(await fixture.knex('devices')).toMatchObject([{ is_dep: true, dep_profile_id }]);
  });
});
