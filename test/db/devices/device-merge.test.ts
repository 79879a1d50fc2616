import { randomBytes, randomUUID } from 'node:crypto';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { removeUdid } from '../../../src/db/device-path/device-move.js';
import {
  mergeDevices,
  mergeDuplicateRecords,
  type Reseal,
} from '../../../src/db/devices/device-merge.js';
import { secretLabel } from '../../../src/db/devices/device-repository.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

const SERIAL = 'C02MT66KFLHH';
const box = new SecretBox(randomBytes(32));
const reseal: Reseal = (sealed, from, to) => box.seal(box.open(sealed, from), to);

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  const tables = ['devices', 'tags', 'device_groups', 'dep_profiles', 'dep_accounts'];
  for (const table of tables) await knex()(table).delete();
});

const knex = () => database.db.knex;

async function add(table: string, row: object): Promise<number> {
  const [added] = await knex()(table).insert(row).returning<{ id: number }[]>('id');
  return added?.id ?? 0;
}

const addDevice = (row: object = {}) => add('devices', { serial_number: SERIAL, ...row });
const addEnrolled = (row: object = {}) =>
  addDevice({
    udid: randomUUID(),
    enrollment_state: 'enrolled',
    is_enrolled: true,
    enrollment_number: 1,
    ...row,
  });
const addCommand = (device_id: number, row: object = {}) =>
  add('commands', {
    device_id,
    uuid: randomUUID(),
    request_type: 'DeviceLock',
    payload: Buffer.from('p'),
    ...row,
  });

const merge = (into: number, from: number) =>
  inTransaction(database.db, (trx) => mergeDevices(trx, { into, from, reseal }));
const mergeDuplicates = (id: number) =>
  inTransaction(database.db, (trx) => mergeDuplicateRecords(trx, [id], reseal));
const rowOf = (id: number) => knex()('devices').where({ id }).first();
const count = async () => (await knex()('devices')).length;

describe('the records that are merged into a device', () => {
  it.each([
    ['has a UDID', { udid: 'another' }],
    ['has an EnrollmentID', { enrollment_id: 'another' }],
    ['has another serial number', { serial_number: 'C02MT66KFLHX' }],
  ])('exclude records that %s', async (_what, other) => {
    const device = await addEnrolled();
    await addDevice(other);
    expect(await mergeDuplicates(device)).toEqual([]);
    expect(await count()).toBe(2);
  });

  it.each([
    ['is no UDID', { udid: null }],
    ['is an EnrollmentID', { udid: null, enrollment_id: 'e' }],
    ['is that of a virtual Mac', { product_name: 'VirtualMac2,1' }],
  ])("do not exist if the device's identity %s", async (_what, own) => {
    const device = await addEnrolled(own);
    await addDevice();
    expect(await mergeDuplicates(device)).toEqual([]);
    expect(await count()).toBe(2);
  });

  it.each(['SHORT', '00000000000', 'c02mt66kflhh'])(
    'are none by the serial number %s',
    async (serial_number) => {
      const device = await addEnrolled({ serial_number });
      await addDevice({ serial_number });
      expect(await mergeDuplicates(device)).toEqual([]);
      expect(await count()).toBe(2);
    },
  );

  it('are all others with its serial number', async () => {
    const device = await addEnrolled();
    const spares = [await addDevice(), await addDevice({ enrollment_state: 'dep' })];
    expect(await mergeDuplicates(device)).toEqual(spares);
    expect(await mergeDuplicates(device)).toEqual([]);
    expect(await knex()('devices').pluck('id')).toEqual([device]);
  });
});

describe('a merge', () => {
  it('changes nothing if the second record has more than a serial number', async () => {
    const [into, from] = [await addEnrolled(), await addEnrolled()];
    const before = await knex()('devices').orderBy('id');
    await merge(into, from);
    expect(await knex()('devices').orderBy('id')).toEqual(before);
  });

  it("moves DEP data and the admin's attributes, and keeps existing ones", async () => {
    const into = await addEnrolled({ description: 'mine', device_name: 'Phone' });
    const created_at = new Date('2026-01-01T00:00:00Z');
    const from = await addDevice({
      is_dep: true,
      enrollment_state: 'dep',
      profile_status: 'pushed',
      color: 'BLUE',
      description: 'its',
      asset_tag: 'A-1',
      device_name: 'its',
      os: 'iOS',
      created_at,
    });
    await merge(into, from);
    expect(await rowOf(from)).toBeUndefined();
    expect(await rowOf(into)).toMatchObject({
      is_dep: true,
      profile_status: 'pushed',
      color: 'BLUE',
      os: 'iOS',
      asset_tag: 'A-1',
      description: 'mine',
      device_name: 'Phone',
      created_at,
      enrollment_state: 'enrolled',
      is_enrolled: true,
      enrollment_number: 1,
    });
  });

  it('moves tags and groups, also those that both have', async () => {
    const [into, from] = [await addEnrolled(), await addDevice()];
    const tags = [await add('tags', { name: 'one' }), await add('tags', { name: 'two' })];
    const group = await add('device_groups', { name: 'group' });
    const tagged = [into, from].map((device_id) => ({ device_id, tag_id: tags[0] }));
    await knex()('device_tags').insert([...tagged, { device_id: from, tag_id: tags[1] }]);
    const smart = await add('device_groups', { name: 'smart', kind: 'smart', rule: '[]' });
    // Its rule decides about each record by itself.
    for (const device_group_id of [group, smart]) {
      await knex()('device_group_devices').insert({ device_group_id, device_id: from });
    }
    await merge(into, from);
    expect(await knex()('device_tags').where({ device_id: into }).pluck('tag_id')).toEqual(tags);
    expect(await knex()('device_group_devices')).toEqual([
      { device_group_id: group, device_id: into },
    ]);
  });

  it('moves custom attributes; of a name that both have, the other keeps its value', async () => {
    const [into, from] = [await addEnrolled(), await addDevice()];
    await knex()('custom_attributes').insert([
      { device_id: into, name: 'room', value: '1' },
      { device_id: from, name: 'room', value: '2' },
      { device_id: from, name: 'desk', value: '3' },
    ]);
    await merge(into, from);
    const rows = knex()('custom_attributes').orderBy('name');
    expect(await rows.select('device_id', 'name', 'value')).toEqual([
      { device_id: into, name: 'desk', value: '3' },
      { device_id: into, name: 'room', value: '1' },
    ]);
  });

  it('moves commands, and requests a push if one is pending', async () => {
    const into = await addEnrolled({ sealed_push: Buffer.from('s'), push_state: 'ok' });
    const done = await addDevice();
    await addCommand(done, { status: 'Acknowledged' });
    await merge(into, done);
    expect(await knex()('device_pushes')).toEqual([]);
    const from = await addDevice();
    const waiting = await addCommand(from);
    await merge(into, from);
    expect(await knex()('commands').where({ id: waiting }).pluck('device_id')).toEqual([into]);
    expect(await knex()('commands').where({ device_id: into })).toHaveLength(2);
    expect(await knex()('device_pushes').pluck('device_id')).toEqual([into]);
  });

  it('moves escrow, sealed under its new label, for admins only', async () => {
    const [into, from] = [await addEnrolled(), await addDevice({ enrollment_number: 3 })];
    const kind = 'bootstrap_token';
    const sealed = box.seal(Buffer.from('token'), secretLabel(from, kind));
    const usual = { device_id: from, enrollment_number: 3, kind };
    await add('device_secrets', { ...usual, sealed });
    await add('device_secrets', { ...usual, sealed: Buffer.alloc(0) });
    await merge(into, from);
    const [secret, removed] = await knex()('device_secrets').orderBy('id');
    expect(secret).toMatchObject({ device_id: into, enrollment_number: 0 });
    expect(box.open(secret.sealed, secretLabel(into, kind)).toString()).toBe('token');
    expect(removed).toMatchObject({ device_id: into, enrollment_number: 0 });
    expect(removed.sealed).toHaveLength(0);
  });

  it('moves history, requests, certificates and users with their commands', async () => {
    const [into, from] = [await addEnrolled(), await addDevice({ enrollment_number: 1 })];
    const history = { device_id: from, enrollment_number: 1, end_reason: 'moved' };
    await add('former_enrollments', history);
    const expires_at = new Date();
    await add('enrollment_requests', { device_id: from, method: 'automated', expires_at });
    const fingerprint = randomBytes(32);
    await knex()('device_identities').insert({ fingerprint, device_id: from, state: 'superseded' });
    const mine = await add('device_users', { device_id: into, user_key: 'both' });
    const both = await add('device_users', { device_id: from, user_key: 'both' });
    const theirs = await add('device_users', { device_id: from, user_key: 'theirs' });
    const commands = [
      await addCommand(from, { device_user_id: both, status: 'Cancelled' }),
      await addCommand(from, { device_user_id: theirs, status: 'Cancelled' }),
    ];
    await merge(into, from);
    for (const table of ['former_enrollments', 'enrollment_requests', 'device_identities']) {
      expect(await knex()(table).pluck('device_id')).toEqual([into]);
    }
    expect(await knex()('device_users').orderBy('id').pluck('id')).toEqual([mine, theirs]);
    const moved = await knex()('commands').whereIn('id', commands).orderBy('id');
    expect(moved.map(({ device_id, device_user_id }) => [device_id, device_user_id])).toEqual([
      [into, mine],
      [into, theirs],
    ]);
  });

  it('moves the DEP record, and sends nothing to Apple', async () => {
    const [into, from] = [await addEnrolled({ enrolled_at: new Date(0) }), await addDevice()];
    const account = await add('dep_accounts', {});
    const profile = { profile_name: 'P', url: 'https://x', dep_account_id: account };
    const wanted = await add('dep_profiles', profile);
    await knex()('devices').where({ id: from }).update({ dep_profile_id: wanted });
    const due = new Date('2030-01-01T00:00:00Z');
    const synced = {
      assignment_due_at: null,
      assignment_attempts: 3,
      auto_assign: false,
      by_default: true,
      assignment_result: 'FAILED',
      last_error: 'no',
      last_error_at: due,
    };
    await knex()('dep_devices').update({ device_id: from, ...synced });
    const other = { dep_account_id: await add('dep_accounts', {}), serial_number: SERIAL };
    await add('dep_devices', { ...other, device_id: from, assignment_due_at: due });
    await merge(into, from);
    expect((await rowOf(into)).dep_profile_id).toBe(wanted);
    const enrolled = { is_enrolled: true, enrolled_at: new Date(0), stage: 'enrolled' };
    expect(await knex()('dep_devices').orderBy('id')).toMatchObject([
      { device_id: into, ...synced, ...enrolled },
      { device_id: into, assignment_due_at: due, auto_assign: true, by_default: false },
    ]);
  });
});

describe('a record whose board is in another device now', () => {
  it('keeps its DEP record, which shows it as not enrolled', async () => {
    const udid = randomUUID();
    const device = await addEnrolled({ udid, is_dep: true });
    const dep_account_id = await add('dep_accounts', {});
    const row = { dep_account_id, serial_number: SERIAL, device_id: device, is_enrolled: true };
    await add('dep_devices', row);
    const move = {
      id: device,
      udid,
      method: 'profile',
      fingerprint: 'ab'.repeat(32),
      isProven: false,
    };
    await inTransaction(database.db, (trx) => removeUdid(trx, move));
    expect(await knex()('dep_devices')).toMatchObject([
      { device_id: device, is_enrolled: false, stage: 'unassigned' },
    ]);
  });
});
