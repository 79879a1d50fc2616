import { findProfileUses } from '../../../src/db/dep/dep-profile-repository.js';
import { Reconciliation } from '../../../src/dep/assignments/reconciliation.js';
import type { ListedDevice } from '../../../src/dep/client/dep-api.js';
import { FakeJobs } from '../assignments/fake-dep-service.js';
import { listing, page, type SyncFixture, startSyncFixture } from './sync-fixture.js';

let fixture: SyncFixture;
beforeAll(async () => {
  fixture = await startSyncFixture();
});
beforeEach(() => fixture.reset());
afterAll(() => fixture.database.drop());

/** A full fetch that lists these. */
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

const reconcile = async (accountId = 1) => {
  const { db } = fixture.database;
  const profiles = { redefineStale: async () => [] };
  const deps = { db, logger: fixture.log.logger, jobs: new FakeJobs(), profiles };
  return await new Reconciliation(deps).reconcile(accountId, new AbortController().signal);
};

const warnings = () => fixture.log.lines.filter(({ level }) => level === 40);
const removed = () => fixture.knex('dep_devices').whereNotNull('removed_at').orderBy('id');

describe('a full fetch', () => {
  const list = Array.from({ length: 24 }, (_, n) => listing(`C02BBBBBB${n + 10}`));
  const most = list.slice(0, 11);

  it('removes the devices that Apple no longer lists, and none that it never listed', async () => {
    await fetched(listing('C02AAAAAAAA1'), ...list);
    const other = await fixture.addAccount({ consumer_key: 'CK_2' });
    const listed_at = new Date('2026-05-01T10:00:00Z');
    await fixture.knex('dep_devices').insert([
      { dep_account_id: 1, serial_number: 'NEVERLISTED1' },
      { dep_account_id: other, serial_number: 'C02AAAAAAAA1', listed_at },
    ]);
    await fetched(...list.slice(0, 13));
    const gone = await removed();
    expect(gone.map(({ serial_number }) => serial_number)).toEqual([
      'C02AAAAAAAA1',
      ...list.slice(13).map(({ serialNumber }) => serialNumber),
    ]);
    for (const { stage, op_type } of gone) expect([stage, op_type]).toEqual(['removed', null]);
    expect(await fixture.knex('devices').where({ is_dep: true })).toHaveLength(13);
    expect(fixture.log.lines.at(-1)).toMatchObject({ kind: 'full', added: 0, removed: 12 });
    expect(warnings()).toEqual([]);
    expect(await fixture.knex('audit_events')).toEqual([]);
    const account = await fixture.account();
    expect(account).toMatchObject({ suspected_losses: 0, fetched_fully_at: expect.any(Date) });
  });

  it('removes nothing when one of its pages cannot be read', async () => {
    await fetched(...list.slice(0, 3));
    await fixture.knex('dep_accounts').where({ id: 1 }).update({ cursor: null });
    fixture.answers(page([], { skipped: 3 }));
    await fixture.sync();
    expect(await removed()).toEqual([]);
    expect((await fixture.account()).sync_phase).toBe('delta');
  });

  it('removes nothing when it ends early', async () => {
    await fetched(...list);
    await fixture.knex('dep_accounts').update({ cursor: null });
    fixture.answers(page(list.slice(0, 3), { moreToFollow: true }), () => {
      throw new Error('the process died');
    });
    await expect(fixture.sync()).rejects.toThrow('the process died');
    expect(await removed()).toEqual([]);
    fixture.answers(page(list.slice(3, 23), { cursor: 'c2' }));
    await fixture.sync();
    expect((await removed()).map(({ serial_number }) => serial_number)).toEqual(['C02BBBBBB33']);
  });

  describe('a full fetch without most of the devices', () => {
    const audited = () => fixture.knex('audit_events').orderBy('id').select('action', 'details');
    beforeEach(() => fixture.knex.raw('truncate audit_events'));

    it('removes none of them, logs that, and has all devices read again', async () => {
      await fetched(...list);
      const { fetched_fully_at } = await fixture.account();
      await fetched(...most, listing('C02CCCCCCCC1'));
      expect(await removed()).toEqual([]);
      expect(await fixture.account()).toMatchObject({
        sync_error:
          'Apple lists only 11 of 24 devices; the next sync reads all devices again, and devices ' +
          'missing then too are marked removed',
        cursor: null,
        sync_phase: 'fetch',
        suspected_losses: 13,
        fetched_fully_at,
        sync_state: 'idle',
        sync_owner: null,
      });
      expect(warnings()).toMatchObject([{ depAccountId: 1, detail: expect.any(String) }]);
      expect(await audited()).toEqual([
        { action: 'dep_accounts.devices_missed', details: { missed: 13, of: 24 } },
      ]);
      expect((await fixture.jobs()).map(({ key }) => key)).toEqual(['dep.reconcile/1']);
    });

    it('is trusted when the next one misses them too', async () => {
      await fetched(...list);
      await fetched(...most);
      fixture.questions.length = 0;
      fixture.answers(page(most));
      await fixture.sync();
      expect(fixture.asked()).toEqual(['fetch null', 'sync c1']);
      expect(await removed()).toHaveLength(13);
      expect(warnings().at(-1)).toMatchObject({ depAccountId: 1, removed: 13, of: 24 });
      expect((await audited()).at(-1)).toEqual({
        action: 'dep_accounts.devices_removed',
        details: { removed: 13, of: 24 },
      });
      const account = { suspected_losses: 0, sync_error: null, sync_phase: 'delta' };
      expect(await fixture.account()).toMatchObject(account);
    });

    it('is forgotten after one that has them', async () => {
      await fetched(...list);
      await fetched();
      await fetched(...list);
      expect(await fixture.account()).toMatchObject({ suspected_losses: 0, sync_error: null });
      await fetched();
      expect(await removed()).toEqual([]);
    });

    it('is recognized also when many devices are new', async () => {
      await fetched(...list);
      await fetched(...Array.from({ length: 40 }, (_, n) => listing(`C02DDDDDD${n + 10}`)));
      expect(await removed()).toEqual([]);
      expect((await fixture.account()).sync_error).toMatch(/^Apple lists only 0 of 24 devices/);
    });
  });
});

describe('the desired profile of devices', () => {
  const SERIALS = ['C02SB0000000', 'C02SB0000001', 'C02SB0000002'] as const;
  const [SB0, SB1, SB2] = SERIALS;
  const all = SERIALS.map((serial) => listing(serial));
  const ops = (opType: 'added' | 'deleted', minute: number) =>
    SERIALS.map((serial) =>
      listing(serial, { opType, opDate: new Date(Date.UTC(2026, 5, 1, 8, minute)) }),
    );
  let own: number;
  let usual: number;

  async function addProfile(uuid: string, dep_account_id = 1): Promise<number> {
    const profile = { profile_name: 'p', url: 'https://x', dep_account_id, status: 'defined' };
    const [row] = await fixture
      .knex('dep_profiles')
      .insert({ ...profile, uuid })
      .returning('id');
    return row.id;
  }

  const want = (serial_number: string, dep_profile_id: number | null) =>
    fixture.knex('devices').where({ serial_number }).update({ dep_profile_id });

  /** The wanted profile, and whether there would be a default one; of removed ones what is due. */
  async function desired() {
    const rows = await fixture
      .knex('dep_devices as x')
      .join('devices as d', 'd.id', 'x.device_id')
      .where({ dep_account_id: 1 })
      .orderBy('x.serial_number')
      .select('d.dep_profile_id', 'x.auto_assign', 'x.removed_at', 'x.assignment_due_at');
    return rows.map(({ dep_profile_id, auto_assign, removed_at, assignment_due_at: due }) => {
      return [dep_profile_id, auto_assign, ...(removed_at === null ? [] : ['removed', due])];
    });
  }

  /** The first has its own, the second was left without one, the third has the default. */
  const wanted = () => [
    [own, true],
    [null, false],
    [usual, true],
  ];
  const lose = () => changed(1, ...ops('deleted', 1));

  beforeEach(async () => {
    own = await addProfile('11111111-1111-4111-8111-111111111111');
    usual = await addProfile('22222222-2222-4222-8222-222222222222');
    await fixture.knex('dep_accounts').update({ default_dep_profile_id: usual });
    await fetched(...all);
    await want(SB0, own);
    await want(SB1, own);
    await want(SB1, null);
    await reconcile();
    expect(await desired()).toEqual(wanted());
  });

  it.each<[string, () => Promise<void>, () => Promise<void>]>([
    ['taken away and added', lose, () => changed(1, ...ops('added', 2))],
    ['taken away and listed', lose, () => fetched(...all)],
    ['missed and added', fetched, () => changed(1, ...ops('added', 1))],
    ['missed and listed', fetched, () => fetched(...all)],
  ])('is restored, and sent to Apple, when they are %s again', async (_, goes, comes) => {
    await goes();
    expect(await desired()).toEqual(wanted().map((profile) => [...profile, 'removed', null]));
    const uses = [findProfileUses(fixture.knex, own), findProfileUses(fixture.knex, usual)];
    expect(await Promise.all(uses)).toEqual([
      { devices: 0, defaultOf: [] },
      { devices: 0, defaultOf: [1] },
    ]);
    await reconcile();
    await comes();
    expect(await reconcile()).toMatchObject({ auto_assigned: 0, reassigned: 2, unassigned: 0 });
    expect(await desired()).toEqual(wanted());
    const byDefault = fixture.knex('dep_devices').where({ by_default: true });
    expect(await byDefault.pluck('serial_number')).toEqual([SB2]);
    const due = fixture.knex('dep_devices').whereNotNull('assignment_due_at');
    expect(await due.orderBy('serial_number').pluck('serial_number')).toEqual([SB0, SB2]);
  });

  it('is the default again when its profile was deleted meanwhile', async () => {
    await lose();
    await fixture.knex('dep_profiles').where({ id: own }).delete();
    await fetched(...all);
    await reconcile();
    expect(await desired()).toEqual([[usual, true], ...wanted().slice(1)]);
  });

  it('is empty when it was unassigned meanwhile', async () => {
    await lose();
    await want(SB0, null);
    await fetched(...all);
    await reconcile();
    expect(await desired()).toEqual([[null, false], ...wanted().slice(1)]);
  });

  it('is replaced by the default of the account that has them now', async () => {
    const other = await fixture.addAccount({ consumer_key: 'CK_2' });
    const theirs = await addProfile('33333333-3333-4333-8333-333333333333', other);
    await fixture
      .knex('dep_accounts')
      .where({ id: other })
      .update({ default_dep_profile_id: theirs });
    await changed(other, ...ops('added', 2));
    await reconcile(other);
    expect(await desired()).toEqual(wanted().with(1, [theirs, false]));
    await lose();
    await reconcile(other);
    expect(await fixture.knex('devices').pluck('dep_profile_id')).toEqual([theirs, theirs, theirs]);
    expect(
      await fixture.knex('dep_devices').where({ dep_account_id: 1 }).pluck('auto_assign'),
    ).toEqual([true, false, true]);
  });

  it('is replaced by that default also when they leave before they are added', async () => {
    const other = await fixture.addAccount({ consumer_key: 'CK_2' });
    const theirs = await addProfile('33333333-3333-4333-8333-333333333333', other);
    await fixture
      .knex('dep_accounts')
      .where({ id: other })
      .update({ default_dep_profile_id: theirs });
    await lose();
    await changed(other, ...ops('added', 2));
    expect(await reconcile(other)).toMatchObject({ auto_assigned: 3 });
    expect(await fixture.knex('devices').pluck('dep_profile_id')).toEqual([theirs, theirs, theirs]);
  });
});
