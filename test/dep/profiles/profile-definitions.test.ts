import { DepError } from '../../../src/dep/client/dep-error.js';
import { createDefineTask } from '../../../src/dep/profiles/profile-definitions.js';
import { DefinitionFixture, uuidOf } from './definition-fixture.js';
import { ENROLLMENT_URL } from './profile-samples.js';

let fixture: DefinitionFixture;

beforeAll(async () => {
  fixture = await DefinitionFixture.open();
});
beforeEach(() => fixture.reset());
afterAll(() => fixture.database.drop());

describe('a profile that Apple does not have', () => {
  it('is defined: its devices and the job that assigns them follow', async () => {
    const id = await fixture.profile();
    const devices = ['A', 'B', 'C'].map((serial_number) => ({ serial_number, dep_profile_id: id }));
    const rows = await fixture.knex('devices').insert(devices).returning('id');
    await fixture.knex('dep_devices').update({ assignment_due_at: null, assignment_attempts: 7 });
    await fixture
      .knex('dep_devices')
      .where({ serial_number: 'C' })
      .update({ removed_at: new Date() });
    const task = createDefineTask(fixture.definitions());
    const { signal } = new AbortController();
    await task.run(task.parse({ profileId: id }), { jobId: 1, attempt: 1, signal });
    expect(fixture.sent).toMatchObject([{ profile_name: 'Office', url: ENROLLMENT_URL }]);
    expect(await fixture.row(id)).toMatchObject({
      uuid: uuidOf(1),
      status: 'defined',
      status_text: null,
      status_advice: null,
      definition_digest: expect.any(Buffer),
      last_upload_at: expect.any(Date),
    });
    const [record] = await fixture.knex('dep_profile_definitions');
    expect(record).toMatchObject({
      uuid: uuidOf(1),
      dep_profile_id: id,
      dep_account_id: fixture.accountId,
      digest: (await fixture.row(id)).definition_digest,
    });
    const due = await fixture.knex('dep_devices').orderBy('serial_number');
    expect(
      due.map((row) => [row.device_id, row.assignment_due_at && row.assignment_attempts]),
    ).toEqual([
      [rows[0].id, 0],
      [rows[1].id, 0],
      [rows[2].id, null],
    ]);
    expect(await fixture.jobs()).toEqual([[`dep.assign/${fixture.accountId}`, 0]]);
  });

  it('is assigned to devices that had the profile before it had an account', async () => {
    const id = await fixture.profile({ dep_account_id: null, status: 'local' });
    const enrolled_at = new Date('2026-01-01T00:00:00Z');
    const dep_account_id = fixture.accountId;
    const devices = [
      { serial_number: 'A', is_enrolled: true, enrolled_at },

      { serial_number: 'B' },
      { serial_number: 'B', udid: 'U2', is_enrolled: true, enrolled_at },
      { serial_number: null },
      { serial_number: 'C' },
      { serial_number: 'D' },
    ];
    // As before there were any triggers.
    const [a, , b, , c] = await fixture.knex.transaction(async (trx) => {
      await trx.raw('alter table devices disable trigger user');
      const rows = await trx('devices')
        .insert(devices.map((one) => ({ is_enrolled: false, ...one, dep_profile_id: id })))
        .returning('id');
      await trx.raw('alter table devices enable trigger user');
      return rows;
    });
    const [other] = await fixture.knex('devices').insert({ serial_number: 'D' }).returning('id');
    await fixture.knex('dep_devices').insert([
      { dep_account_id, serial_number: 'C', device_id: null },
      { dep_account_id, serial_number: 'D', device_id: other.id },
    ]);
    await fixture.change(id, { dep_account_id, status: 'pending' });
    const refusal = new DepError('refused', 'Apple refuses it', { text: 'NO' });
    const { answer } = fixture;
    fixture.answer = () => Promise.reject(refusal);
    await fixture.definitions().define(id);
    expect(await fixture.knex('dep_devices').whereNotNull('last_error').pluck('device_id')).toEqual(
      expect.arrayContaining([a.id, b.id, c.id]),
    );
    fixture.answer = answer;
    await fixture.definitions().define(id);
    const rows = await fixture.knex('dep_devices').orderBy('serial_number');
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
    expect(await fixture.jobs()).toEqual([[`dep.assign/${dep_account_id}`, 0]]);
  });

  it('is not sent without an account, or after it was deleted', async () => {
    const local = await fixture.profile({ dep_account_id: null, status: 'local' });
    await fixture.definitions().define(local);
    await fixture.definitions().define(local + 1000);
    expect([fixture.sent, (await fixture.row(local)).status, await fixture.jobs()]).toEqual([
      [],
      'local',
      [],
    ]);
  });
});

describe('a profile that Apple has', () => {
  it('is not sent again while it is unchanged', async () => {
    const id = await fixture.profile();
    await fixture.definitions().define(id);
    await fixture.change(id, { status: 'pending', minimum_ios_version: '17.4' });
    await fixture.forgetJobs();
    await fixture.definitions().define(id);
    expect([fixture.sent.length, (await fixture.row(id)).status, await fixture.jobs()]).toEqual([
      1,
      'defined',
      [],
    ]);
    expect(await fixture.definitions().redefineStale(fixture.accountId)).toEqual([]);
  });

  it('is defined again under another UUID when it has changed', async () => {
    const id = await fixture.profile();
    await fixture.definitions().define(id);
    await fixture.change(id, { department: 'IT', status: 'pending' });
    await fixture.definitions().define(id);
    expect(fixture.sent.map(({ department }) => department)).toEqual([undefined, 'IT']);
    expect(await fixture.row(id)).toMatchObject({ uuid: uuidOf(2), status: 'defined' });
    expect(await fixture.history()).toEqual([uuidOf(1), uuidOf(2)]);
  });

  it('does not become defined when it changes while Apple answers', async () => {
    const id = await fixture.profile();
    fixture.answer = async () => {
      await fixture.change(id, { department: 'IT' });
      return uuidOf(1);
    };
    await fixture.definitions().define(id);
    expect(await fixture.row(id)).toMatchObject({ uuid: null, status: 'pending' });
    expect([await fixture.history(), await fixture.jobs()]).toEqual([[uuidOf(1)], []]);
    fixture.answer = () => Promise.resolve(uuidOf(2));
    await fixture.definitions().define(id);
    expect([fixture.sent[1]?.department, (await fixture.row(id)).uuid]).toEqual(['IT', uuidOf(2)]);
  });

  it('does not become failed when it is changed, moved or deleted while Apple answers', async () => {
    const meanwhile: ((id: number) => Promise<unknown>)[] = [
      (id) => fixture.change(id, { department: 'IT' }),
      (id) => fixture.change(id, { dep_account_id: null, status: 'local' }),
      (id) => fixture.knex('dep_profiles').where({ id }).delete(),
    ];
    for (const happen of meanwhile) {
      const id = await fixture.profile();
      fixture.answer = async () => {
        await happen(id);
        throw new DepError('refused', 'no', { text: 'FLAGS_INVALID' });
      };
      await fixture.definitions().define(id);
      expect((await fixture.row(id))?.status).not.toBe('failed');
    }
    expect(fixture.lines).toEqual([]);
  });

  it('leaves its UUID on record when it is deleted before Apple answers', async () => {
    const id = await fixture.profile();
    fixture.answer = async () => {
      await fixture.knex('dep_profiles').where({ id }).delete();
      return uuidOf(1);
    };
    await fixture.definitions().define(id);
    expect(await fixture.knex('dep_profile_definitions').select('uuid', 'dep_profile_id')).toEqual([
      { uuid: uuidOf(1), dep_profile_id: null },
    ]);
  });

  it('has one UUID when two processes define it at once', async () => {
    const id = await fixture.profile();
    await Promise.all([fixture.definitions().define(id), fixture.definitions().define(id)]);
    const { uuid, status } = await fixture.row(id);
    expect([fixture.sent.length, status, await fixture.history()]).toEqual([
      2,
      'defined',
      [uuidOf(1), uuidOf(2)],
    ]);
    expect(await fixture.history()).toContain(uuid);
  });
});

describe('the definition of a profile at Apple', () => {
  it('is stale once the anchors, the supervisors or PUBLIC_URL have changed', async () => {
    const id = await fixture.profile();
    await fixture.definitions().define(id);
    fixture.anchors = [Buffer.from('another anchor')];
    expect(await fixture.definitions().redefineStale(fixture.accountId)).toEqual([id]);
    expect((await fixture.row(id)).status).toBe('pending');
    await fixture.definitions().define(id);
    const supervision = { purpose: 'dep.supervision', x509_cn: 'Cart', der: Buffer.from('cart') };
    const dates = { not_before: new Date(), not_after: new Date() };
    const [stored] = await fixture
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
    expect(await fixture.definitions().redefineStale(fixture.accountId)).toEqual([id]);
    await fixture.definitions().define(id);
    expect(fixture.sent.at(-1)).toMatchObject({
      anchor_certs: [fixture.anchors[0]?.toString('base64')],
      supervising_host_certs: [supervision.der.toString('base64')],
    });
    await fixture.knex('certificates').where({ id: stored.id }).update({ revoked_at: new Date() });
    expect(await fixture.definitions().redefineStale(fixture.accountId)).toEqual([id]);
    await fixture.definitions().define(id);
    const moved = fixture.definitions('https://new.example.com/dep/enroll');
    expect(await moved.redefineStale(fixture.accountId)).toEqual([id]);
    await moved.define(id);
    expect(await fixture.row(id)).toMatchObject({
      url: 'https://new.example.com/dep/enroll',
      status: 'defined',
    });
  });

  it('is checked with two statements, however many profiles there are', async () => {
    for (let count = 0; count < 5; count += 1) await fixture.profile({ department: `D${count}` });
    for (const { id } of await fixture.knex('dep_profiles').select('id'))
      await fixture.definitions().define(id);
    const statements: string[] = [];
    const note = ({ sql }: { sql: string }) => statements.push(sql);
    fixture.knex.on('query', note);
    expect(await fixture.definitions().redefineStale(fixture.accountId)).toEqual([]);
    fixture.knex.removeListener('query', note);
    expect(statements.length).toBe(2);
  });
});
