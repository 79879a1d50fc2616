import { buildPlist } from '../../../src/protocol/plist/plist.js';
import { type Answer, type Answers, ReportSetup } from './report-setup.js';

let setup: ReportSetup;

beforeAll(async () => {
  setup = await ReportSetup.create();
});
afterEach(() => setup.clear());
afterAll(() => setup.test.drop());

describe('a batch of lists', () => {
  const answerOf = (deviceId: number, requestType: string, entries: Answers[]): Answer => {
    return { deviceId, requestType, result: buildPlist({ [requestType]: entries }) };
  };

  /** With the transaction that wrote each row. */
  const stored = (table: string) =>
    setup.test.db
      .knex(table)
      .orderBy('id')
      .select('*', setup.test.db.knex.raw('xmin::text as written'));

  it('replaces the changed entries of each device, and does not write the others', async () => {
    const ids = await setup.storeDevices(60);
    const [changed = 0] = ids.slice(13);
    const applications = (count: number) =>
      Array.from({ length: count }, (_, at) => ({
        Identifier: `com.example.a${at}`,
        Version: '1',
      }));
    const first = ids.map((id) => answerOf(id, 'InstalledApplicationList', applications(20)));
    await setup.handle(first);
    const before = await stored('installed_applications');
    expect(before).toHaveLength(1200);
    const newer = [{ Identifier: 'com.example.a0', Version: '2' }, ...applications(20).slice(2)];
    await setup.handle(
      ids.map((id) => {
        const entries = id === changed ? newer : applications(20);
        return answerOf(id, 'InstalledApplicationList', entries);
      }),
    );
    const after = await stored('installed_applications');
    const isGone = ({ device_id, bundle_identifier }: (typeof before)[number]) =>
      device_id === changed && /a[01]$/.test(bundle_identifier);
    const added = after.at(-1);
    expect(after.slice(0, -1)).toEqual(before.filter((row) => !isGone(row)));
    expect(added).toMatchObject({ device_id: changed, version: '2', name: null });
  });

  it('compares profiles with their payloads', async () => {
    const [same = 0, other = 0] = await setup.storeDevices(2);
    const profile = (name: string, payloads: string[]) => ({
      PayloadIdentifier: name,
      PayloadVersion: 1,
      IsManaged: true,
      SignerCertificates: [Buffer.from('der')],
      PayloadContent: payloads.map((PayloadType) => ({ PayloadType, PayloadVersion: 1 })),
    });
    const both = [profile('wifi', ['com.apple.wifi', 'com.apple.vpn']), profile('empty', [])];
    await setup.handle([same, other].map((id) => answerOf(id, 'ProfileList', both)));
    const before = [await stored('installed_profiles'), await stored('installed_payloads')];
    expect(before.map((rows) => rows.length)).toEqual([4, 4]);
    await setup.handle([
      answerOf(same, 'ProfileList', both),
      answerOf(other, 'ProfileList', [profile('wifi', ['com.apple.wifi']), profile('empty', [])]),
    ]);
    const [profiles = [], payloads = []] = before;
    const replaced = profiles[2];
    const now = await stored('installed_profiles');
    expect(now.slice(0, 3)).toEqual(profiles.filter(({ id }) => id !== replaced?.id));
    expect(now[3]).toMatchObject({
      device_id: other,
      payload_identifier: 'wifi',
      is_managed: true,
    });
    const rows = await stored('installed_payloads');
    expect(rows.slice(0, 2)).toEqual(
      payloads.filter(({ installed_profile_id: id }) => id === profiles[0]?.id),
    );
    expect(rows.slice(2)).toMatchObject([
      { installed_profile_id: now[3]?.id, payload_type: 'com.apple.wifi' },
    ]);
  });

  it('of more bytes than one batch holds is handled in several', async () => {
    const ids = await setup.storeDevices(50);
    const Name = 'n'.repeat(60_000);
    await setup.handle(ids.map((id) => answerOf(id, 'InstalledApplicationList', [{ Name }])));
    const rows = await setup.test.db
      .knex('installed_applications')
      .orderBy('device_id')
      .select('device_id', { length: setup.test.db.knex.raw('length(name)') });
    expect(rows).toEqual(ids.map((device_id) => ({ device_id, length: 600 })));
    expect(await setup.waiting()).toBe(0);
  });

  it('of users takes a statement to remove and one for each set of columns', async () => {
    // No more than the smallest batch: the worker takes that when it is busy.
    const ids = await setup.storeDevices(30);
    const [, changed = 0, emptied = 0, fuller = 0] = ids;
    const users = (names: string[], more: Answers = {}): Answers[] =>
      names.map((UserName) => ({ UserName, UID: 501, ...more }));
    const answersOf = (entriesOf: (id: number) => Answers[]) =>
      ids.map((deviceId): Answer => {
        const result = buildPlist({ Users: entriesOf(deviceId) });
        return { deviceId, requestType: 'UserList', result };
      });
    const withName = { FullName: 'Jo', HasSecureToken: true };
    await setup.handle(
      answersOf((id) => users(['jo', 'kim', 'lee'], id === fuller ? withName : {})),
    );
    const before = await stored('local_users');
    expect(before).toHaveLength(90);
    const of = (id: number) => before.find(({ device_id }) => device_id === id);
    expect(of(fuller)).toMatchObject({ full_name: 'Jo', has_secure_token: true, uid: 501 });
    expect(of(changed)).toMatchObject({ full_name: null, has_secure_token: null, uid: 501 });

    const statements: string[] = [];
    const note = ({ sql }: { sql: string }) => {
      if (sql.includes('local_users') || sql.startsWith('delete from ??')) statements.push(sql);
    };
    setup.test.db.knex.on('query', note);
    await setup.handle(
      answersOf((id) => {
        if (id === emptied) return [];
        if (id === changed) return users(['jo', 'max']);
        return users(['jo', 'kim', 'lee'], id === fuller ? withName : {});
      }),
    );
    setup.test.db.knex.removeListener('query', note);
    // The first answer is not held back for others.
    const [alone, together] = [
      ['delete', 'insert'],
      ['delete', 'insert', 'insert'],
    ];
    const verbs = statements.map((sql) => sql.trim().split(' ')[0]);
    expect(verbs).toEqual([...alone, ...together]);
    const after = await stored('local_users');
    const isGone = ({ device_id, user_name }: (typeof before)[number]) =>
      device_id === emptied || (device_id === changed && user_name !== 'jo');
    expect(after.slice(0, -1)).toEqual(before.filter((row) => !isGone(row)));
    expect(after.at(-1)).toMatchObject({ device_id: changed, user_name: 'max' });
  });
});
