import { DepError } from '../../../src/dep/client/dep-error.js';
import { createDefineTask } from '../../../src/dep/profiles/profile-definitions.js';
import { DefinitionWorld, uuidOf } from './definition-world.js';
import { ENROLLMENT_URL } from './profile-samples.js';

let world: DefinitionWorld;

beforeAll(async () => {
  world = await DefinitionWorld.open();
});
beforeEach(() => world.reset());
afterAll(() => world.database.drop());

describe('a profile that Apple does not have', () => {
  it('is defined: its devices and the job that assigns them follow', async () => {
    const id = await world.profile();
    const devices = ['A', 'B', 'C'].map((serial_number) => ({ serial_number, dep_profile_id: id }));
    const rows = await world.knex('devices').insert(devices).returning('id');
    await world.knex('dep_devices').update({ assignment_due_at: null, assignment_attempts: 7 });
    await world
      .knex('dep_devices')
      .where({ serial_number: 'C' })
      .update({ removed_at: new Date() });
    const task = createDefineTask(world.definitions());
    const { signal } = new AbortController();
    await task.run(task.parse({ profileId: id }), { jobId: 1, attempt: 1, signal });
    expect(world.sent).toMatchObject([{ profile_name: 'Office', url: ENROLLMENT_URL }]);
    expect(await world.row(id)).toMatchObject({
      uuid: uuidOf(1),
      status: 'defined',
      status_text: null,
      status_advice: null,
      definition_digest: expect.any(Buffer),
      last_upload_at: expect.any(Date),
    });
    const [record] = await world.knex('dep_profile_definitions');
    expect(record).toMatchObject({
      uuid: uuidOf(1),
      dep_profile_id: id,
      dep_account_id: world.accountId,
      digest: (await world.row(id)).definition_digest,
    });
    const due = await world.knex('dep_devices').orderBy('serial_number');
    expect(
      due.map((row) => [row.device_id, row.assignment_due_at && row.assignment_attempts]),
    ).toEqual([
      [rows[0].id, 0],
      [rows[1].id, 0],
      [rows[2].id, null],
    ]);
    expect(await world.jobs()).toEqual([[`dep.assign/${world.accountId}`, 0]]);
  });

  it('is assigned to devices that had the profile before it had an account', async () => {
    const id = await world.profile({ dep_account_id: null, status: 'local' });
    const enrolled_at = new Date('2026-01-01T00:00:00Z');
    const dep_account_id = world.accountId;
    const devices = [
      { serial_number: 'A', is_enrolled: true, enrolled_at },

      { serial_number: 'B' },
      { serial_number: 'B', udid: 'U2', is_enrolled: true, enrolled_at },
      { serial_number: null },
      { serial_number: 'C' },
      { serial_number: 'D' },
    ];
    // As before there were any triggers.
    const [a, , b, , c] = await world.knex.transaction(async (trx) => {
      await trx.raw('alter table devices disable trigger user');
      const rows = await trx('devices')
        .insert(devices.map((one) => ({ is_enrolled: false, ...one, dep_profile_id: id })))
        .returning('id');
      await trx.raw('alter table devices enable trigger user');
      return rows;
    });
    const [other] = await world.knex('devices').insert({ serial_number: 'D' }).returning('id');
    await world.knex('dep_devices').insert([
      { dep_account_id, serial_number: 'C', device_id: null },
      { dep_account_id, serial_number: 'D', device_id: other.id },
    ]);
    await world.change(id, { dep_account_id, status: 'pending' });
    const refusal = new DepError('refused', 'Apple refuses it', { text: 'NO' });
    const { answer } = world;
    world.answer = () => Promise.reject(refusal);
    await world.definitions().define(id);
    expect(await world.knex('dep_devices').whereNotNull('last_error').pluck('device_id')).toEqual(
      expect.arrayContaining([a.id, b.id, c.id]),
    );
    world.answer = answer;
    await world.definitions().define(id);
    const rows = await world.knex('dep_devices').orderBy('serial_number');
    expect(
      rows.map((row) => [
        row.serial_number,
        row.device_id,
        row.is_enrolled,
        row.enrolled_at,
        row.assignment_due_at !== null,
      ]),
    ).toEqual([
      ['A', a.id, true, enrolled_at, true],
      ['B', b.id, true, enrolled_at, true],
      ['C', c.id, false, null, true],
      ['D', other.id, false, null, false],
    ]);
    expect(await world.jobs()).toEqual([[`dep.assign/${dep_account_id}`, 0]]);
  });

  it('is not sent without an account, or after it was deleted', async () => {
    const local = await world.profile({ dep_account_id: null, status: 'local' });
    await world.definitions().define(local);
    await world.definitions().define(local + 1000);
    expect([world.sent, (await world.row(local)).status, await world.jobs()]).toEqual([
      [],
      'local',
      [],
    ]);
  });
});

describe('a profile that Apple has', () => {
  it('is not sent again while it is unchanged', async () => {
    const id = await world.profile();
    await world.definitions().define(id);
    await world.change(id, { status: 'pending', minimum_ios_version: '17.4' });
    await world.forgetJobs();
    await world.definitions().define(id);
    expect([world.sent.length, (await world.row(id)).status, await world.jobs()]).toEqual([
      1,
      'defined',
      [],
    ]);
    expect(await world.definitions().redefineStale(world.accountId)).toEqual([]);
  });

  it('is defined again under another UUID when it has changed', async () => {
    const id = await world.profile();
    await world.definitions().define(id);
    await world.change(id, { department: 'IT', status: 'pending' });
    await world.definitions().define(id);
    expect(world.sent.map(({ department }) => department)).toEqual([undefined, 'IT']);
    expect(await world.row(id)).toMatchObject({ uuid: uuidOf(2), status: 'defined' });
    expect(await world.history()).toEqual([uuidOf(1), uuidOf(2)]);
  });

  it('does not become defined when it changes while Apple answers', async () => {
    const id = await world.profile();
    world.answer = async () => {
      await world.change(id, { department: 'IT' });
      return uuidOf(1);
    };
    await world.definitions().define(id);
    expect(await world.row(id)).toMatchObject({ uuid: null, status: 'pending' });
    expect([await world.history(), await world.jobs()]).toEqual([[uuidOf(1)], []]);
    world.answer = () => Promise.resolve(uuidOf(2));
    await world.definitions().define(id);
    expect([world.sent[1]?.department, (await world.row(id)).uuid]).toEqual(['IT', uuidOf(2)]);
  });

  it('does not become failed when it is changed, moved or deleted while Apple answers', async () => {
    const meanwhile: ((id: number) => Promise<unknown>)[] = [
      (id) => world.change(id, { department: 'IT' }),
      (id) => world.change(id, { dep_account_id: null, status: 'local' }),
      (id) => world.knex('dep_profiles').where({ id }).delete(),
    ];
    for (const happen of meanwhile) {
      const id = await world.profile();
      world.answer = async () => {
        await happen(id);
        throw new DepError('refused', 'no', { text: 'FLAGS_INVALID' });
      };
      await world.definitions().define(id);
      expect((await world.row(id))?.status).not.toBe('failed');
    }
    expect(world.lines).toEqual([]);
  });

  it('leaves its UUID on record when it is deleted before Apple answers', async () => {
    const id = await world.profile();
    world.answer = async () => {
      await world.knex('dep_profiles').where({ id }).delete();
      return uuidOf(1);
    };
    await world.definitions().define(id);
    expect(await world.knex('dep_profile_definitions').select('uuid', 'dep_profile_id')).toEqual([
      { uuid: uuidOf(1), dep_profile_id: null },
    ]);
  });

  it('has one UUID when two processes define it at once', async () => {
    const id = await world.profile();
    await Promise.all([world.definitions().define(id), world.definitions().define(id)]);
    const { uuid, status } = await world.row(id);
    expect([world.sent.length, status, await world.history()]).toEqual([
      2,
      'defined',
      [uuidOf(1), uuidOf(2)],
    ]);
    expect(await world.history()).toContain(uuid);
  });
});

describe('the definition of a profile at Apple', () => {
  it('is stale once the anchors, the supervisors or PUBLIC_URL have changed', async () => {
    const id = await world.profile();
    await world.definitions().define(id);
    world.anchors = [Buffer.from('another anchor')];
    expect(await world.definitions().redefineStale(world.accountId)).toEqual([id]);
    expect((await world.row(id)).status).toBe('pending');
    await world.definitions().define(id);
    const supervision = { purpose: 'dep.supervision', x509_cn: 'Cart', der: Buffer.from('cart') };
    const dates = { not_before: new Date(), not_after: new Date() };
    const [stored] = await world
      .knex('certificates')
      .insert({
        ...supervision,
        ...dates,
        subject: 'CN=Cart',
        issuer: 'CN=Cart',
        serial: '1',
        fingerprint: Buffer.alloc(32, 5),
      })
      .returning('id');
    expect(await world.definitions().redefineStale(world.accountId)).toEqual([id]);
    await world.definitions().define(id);
    expect(world.sent.at(-1)).toMatchObject({
      anchor_certs: [world.anchors[0]?.toString('base64')],
      supervising_host_certs: [supervision.der.toString('base64')],
    });
    await world.knex('certificates').where({ id: stored.id }).update({ revoked_at: new Date() });
    expect(await world.definitions().redefineStale(world.accountId)).toEqual([id]);
    await world.definitions().define(id);
    const moved = world.definitions('https://new.example.com/dep/enroll');
    expect(await moved.redefineStale(world.accountId)).toEqual([id]);
    await moved.define(id);
    expect(await world.row(id)).toMatchObject({
      url: 'https://new.example.com/dep/enroll',
      status: 'defined',
    });
  });

  it('is checked with two statements, however many profiles there are', async () => {
    for (let count = 0; count < 5; count += 1) await world.profile({ department: `D${count}` });
    for (const { id } of await world.knex('dep_profiles').select('id'))
      await world.definitions().define(id);
    const statements: string[] = [];
    const note = ({ sql }: { sql: string }) => statements.push(sql);
    world.knex.on('query', note);
    expect(await world.definitions().redefineStale(world.accountId)).toEqual([]);
    world.knex.removeListener('query', note);
    expect(statements.length).toBe(2);
  });
});
