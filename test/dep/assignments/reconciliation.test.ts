import { AssignmentFixture, U1, U2 } from './assignment-fixture.js';

const ALIEN = '33333333-aaaa-4aaa-8aaa-333333333333';
const NOTHING = {
  auto_assigned: 0,
  auto_reassigned: 0,
  reassigned: 0,
  unassigned: 0,
  records_made: 0,
  redefined: 0,
  failing: 0,
};

let fixture: AssignmentFixture;

beforeAll(async () => {
  fixture = await AssignmentFixture.create();
});
afterAll(() => fixture.stop());
beforeEach(() => fixture.reset());

const setAccount = (columns: object) =>
  fixture.knex('dep_accounts').where({ id: fixture.account }).update(columns);
const wanted = async (serial: string) =>
  (await fixture.knex('devices').where({ serial_number: serial }).first('dep_profile_id'))
    ?.dep_profile_id;

describe('a device without a profile', () => {
  it('gets the default of its family, else that of the account, however long it is known', async () => {
    const defaults: Record<string, number> = {};
    for (const family of ['iphone', 'ipad', 'mac', 'apple_tv', 'vision']) {
      defaults[`default_${family}_profile_id`] = await fixture.rows.profile(fixture.account);
    }
    await setAccount({ ...defaults, default_dep_profile_id: fixture.profile });
    const families = [
      ['iPhone', defaults.default_iphone_profile_id],
      ['iPod', defaults.default_iphone_profile_id],
      ['iPad', defaults.default_ipad_profile_id],
      ['Mac', defaults.default_mac_profile_id],
      ['AppleTV', defaults.default_apple_tv_profile_id],
      ['Vision', defaults.default_vision_profile_id],
      ['RealityDevice', defaults.default_vision_profile_id],
      ['Toaster', fixture.profile],
      [null, fixture.profile],
    ] as const;
    const listed_at = new Date(0);
    for (const [index, [device_family]] of families.entries()) {
      await fixture.rows.device(fixture.account, `C02FAMILY${100 + index}`, {
        device_family,
        listed_at,
      });
    }
    expect(await fixture.reconcile()).toEqual({ ...NOTHING, auto_assigned: 9 });
    for (const [index, [family, expected]] of families.entries()) {
      expect([family, await wanted(`C02FAMILY${100 + index}`)]).toEqual([family, expected]);
    }
    const due = fixture.knex('dep_devices').whereNotNull('assignment_due_at').count();
    expect(await due).toEqual([{ count: 9 }]);
    expect(await fixture.reconcile()).toEqual(NOTHING);
  });

  it('follows the default until an admin assigns a profile, whatever came first', async () => {
    const macs = await fixture.rows.profile(fixture.account, { uuid: U2 });
    const own = await fixture.rows.profile(fixture.account);
    const [mac = 0, pad = 0, pinned = 0, given = 0] = [
      await fixture.rows.device(fixture.account, 'C02MAC', { device_family: 'Mac' }),
      await fixture.rows.device(fixture.account, 'C02PAD', { device_family: 'iPad' }),
      await fixture.rows.device(fixture.account, 'C02PINNED', { device_family: 'Mac' }),
      await fixture.rows.device(fixture.account, 'C02GIVEN', { device_family: 'Mac' }),
    ];
    await setAccount({ default_dep_profile_id: fixture.profile });
    expect(await fixture.reconcile()).toEqual({ ...NOTHING, auto_assigned: 4 });
    await fixture.send();
    await fixture.knex('dep_devices').where({ device_id: pinned }).update({ auto_assign: false });
    await fixture.rows.give([given], own);
    const defaults = () => fixture.knex('dep_devices').where({ by_default: true }).orderBy('id');
    expect(await defaults().pluck('device_id')).toEqual([mac, pad, pinned]);
    await setAccount({ default_mac_profile_id: macs });
    expect(await fixture.reconcile()).toEqual({ ...NOTHING, auto_reassigned: 1 });
    const desired = () => fixture.knex('devices').orderBy('id').pluck('dep_profile_id');
    expect(await desired()).toEqual([macs, fixture.profile, fixture.profile, own]);
    await fixture.send();
    expect(fixture.apple.calls.at(-1)).toEqual([U2, ['C02MAC']]);
    await setAccount({ default_dep_profile_id: null, default_mac_profile_id: null });
    expect(await fixture.reconcile()).toEqual(NOTHING);
    expect(await desired()).toEqual([macs, fixture.profile, fixture.profile, own]);
    await setAccount({ default_dep_profile_id: own });
    expect(await fixture.reconcile()).toEqual({ ...NOTHING, auto_reassigned: 2 });
    expect(await desired()).toEqual([own, own, fixture.profile, own]);
    expect(await defaults().pluck('device_id')).toEqual([mac, pad, pinned]);
  });

  it('gets none of another account, and none without a default', async () => {
    await fixture.rows.device(fixture.account, 'C02AAAAAAAA1', { device_family: 'Mac' });
    expect(await fixture.reconcile()).toEqual(NOTHING);
    const elsewhere = await fixture.rows.profile(await fixture.rows.account(), { uuid: U2 });
    await setAccount({ default_dep_profile_id: elsewhere, default_mac_profile_id: elsewhere });
    expect([await fixture.reconcile(), await wanted('C02AAAAAAAA1')]).toEqual([NOTHING, null]);
  });

  it('stays without a profile that an admin unassigned, until one is assigned again', async () => {
    await setAccount({ default_dep_profile_id: fixture.profile });
    const id = await fixture.rows.device(fixture.account, 'C02AAAAAAAA1');
    await fixture.reconcile();
    await fixture.rows.give([id], null);
    await fixture.send();
    expect([await fixture.reconcile(), await wanted('C02AAAAAAAA1')]).toEqual([NOTHING, null]);
    await fixture.rows.give([id], fixture.profile);
    expect((await fixture.rows.one('C02AAAAAAAA1')).auto_assign).toBe(true);
  });

  it('gets the default when its own profile is deleted', async () => {
    const own = await fixture.rows.profile(fixture.account, { uuid: U2 });
    const id = await fixture.rows.device(fixture.account, 'C02AAAAAAAA1');
    await fixture.rows.give([id], own);
    await setAccount({ default_dep_profile_id: fixture.profile });
    await fixture.knex('dep_profiles').where({ id: own }).delete();
    expect(await fixture.reconcile()).toEqual({ ...NOTHING, auto_assigned: 1 });
    expect(await wanted('C02AAAAAAAA1')).toBe(fixture.profile);
  });

  it('gets none when Apple has removed it, or never listed it', async () => {
    await setAccount({ default_dep_profile_id: fixture.profile });
    await fixture.rows.device(fixture.account, 'C02AAAAAAAA1', { removed_at: new Date() });
    await fixture.rows.device(fixture.account, 'C02AAAAAAAA2', { listed_at: null });
    expect(await fixture.reconcile()).toEqual(NOTHING);
  });

  it("gets one of this server in place of another server's", async () => {
    await setAccount({ default_dep_profile_id: fixture.profile });
    await fixture.rows.device(fixture.account, 'C02AAAAAAAA1', {
      profile_uuid: ALIEN,
      profile_status: 'pushed',
    });
    expect(await fixture.reconcile()).toEqual({ ...NOTHING, auto_assigned: 1 });
    await fixture.send();
    expect(fixture.apple.calls).toEqual([[U1, ['C02AAAAAAAA1']]]);
    expect((await fixture.rows.one('C02AAAAAAAA1')).profile_uuid).toBe(U1);
  });
});

describe('an assignment at Apple that differs from the desired one', () => {
  const drift = (columns: object) => fixture.knex('dep_devices').update(columns);

  it.each([[ALIEN], [U2], [null]])('is sent again: %s', async (profile_uuid) => {
    const id = await fixture.rows.device(fixture.account, 'C02AAAAAAAA1');
    await fixture.rows.give([id], fixture.profile);
    await fixture.send();
    await drift({ profile_uuid });
    expect(await fixture.reconcile()).toEqual({ ...NOTHING, reassigned: 1 });
    expect(fixture.jobs.asked).toEqual([['assign', fixture.account]]);
    await fixture.send();
    expect(fixture.apple.calls).toEqual([
      [U1, ['C02AAAAAAAA1']],
      [U1, ['C02AAAAAAAA1']],
    ]);
    expect(await fixture.reconcile()).toEqual(NOTHING);
  });

  it('is removed when it is ours and none is desired, also after its profile was deleted', async () => {
    await fixture.rows.definition(fixture.account, U2, null);
    await fixture.rows.device(fixture.account, 'C02AAAAAAAA1', { profile_uuid: U2 });
    await fixture.rows.device(fixture.account, 'C02AAAAAAAA2', { profile_uuid: ALIEN });
    expect(await fixture.reconcile()).toEqual({ ...NOTHING, unassigned: 1 });
    await fixture.send();
    expect(fixture.apple.calls).toEqual([[null, ['C02AAAAAAAA1']]]);
    expect((await fixture.rows.one('C02AAAAAAAA2')).profile_uuid).toBe(ALIEN);
  });

  it('has its missing error restored when Apple refuses the profile', async () => {
    const id = await fixture.rows.device(fixture.account, 'C02AAAAAAAA1');
    await fixture.rows.give([id], fixture.profile);
    await fixture.knex('dep_profiles').update({ status: 'failed', status_text: 'NO' });
    expect(await fixture.reconcile()).toEqual({ ...NOTHING, failing: 1 });
    const last_error = "profile 'P' is not at Apple: NO";
    expect(await fixture.rows.one('C02AAAAAAAA1')).toMatchObject({ last_error });
    await fixture.knex('dep_profiles').update({ status: 'defined', status_text: null });
    expect(await fixture.reconcile()).toEqual(NOTHING);
    expect(await fixture.rows.one('C02AAAAAAAA1')).toMatchObject({
      last_error: null,
      last_error_at: null,
    });
  });

  it('is not repaired while it is due already, or its profile waits for Apple', async () => {
    const pending = await fixture.rows.profile(fixture.account, { uuid: U2, status: 'pending' });
    const [a, b] = [
      await fixture.rows.device(fixture.account, 'C02AAAAAAAA1'),
      await fixture.rows.device(fixture.account, 'C02AAAAAAAA2'),
    ];
    await fixture.rows.give([a], fixture.profile);
    const due = (await fixture.rows.one('C02AAAAAAAA1')).assignment_due_at;
    await fixture.rows.give([b], pending);
    await drift({ assignment_attempts: 3 });
    await fixture.knex('dep_devices').where({ device_id: b }).update({ assignment_due_at: null });
    expect(await fixture.reconcile()).toEqual(NOTHING);
    expect(await fixture.rows.one('C02AAAAAAAA1')).toMatchObject({
      assignment_due_at: due,
      assignment_attempts: 3,
    });
  });
});

describe('a serial number without a record', () => {
  const remove = () => fixture.knex('devices').delete();

  it('gets a new one, with the profile that Apple has for it', async () => {
    const other = await fixture.rows.profile(fixture.account, { uuid: U2 });
    await setAccount({ default_dep_profile_id: fixture.profile });
    const facts = {
      model: 'Mac',
      device_family: 'Mac',
      profile_uuid: U2,
      profile_status: 'pushed',
    };
    await fixture.rows.device(fixture.account, 'C02AAAAAAAA1', { ...facts, by_default: true });
    await fixture.rows.device(fixture.account, 'C02AAAAAAAA2');
    await fixture.rows.device(fixture.account, 'C02AAAAAAAA3', { profile_uuid: U2 });
    await remove();
    expect(await fixture.reconcile()).toEqual({
      ...NOTHING,
      records_made: 3,
      auto_assigned: 1,
      auto_reassigned: 1,
    });
    expect((await fixture.rows.one('C02AAAAAAAA3')).by_default).toBe(false);
    expect(await wanted('C02AAAAAAAA3')).toBe(other);
    const [one, two] = await fixture.knex('devices').orderBy('serial_number');
    expect(one).toMatchObject({
      ...facts,
      serial_number: 'C02AAAAAAAA1',
      is_dep: true,
      enrollment_state: 'dep',
      dep_profile_id: fixture.profile,
    });
    expect((await fixture.rows.one('C02AAAAAAAA1')).device_id).toBe(one.id);
    expect(two).toMatchObject({ serial_number: 'C02AAAAAAAA2', dep_profile_id: fixture.profile });
  });

  it('gets the enrolled one if there is one, and stays without a profile that was unassigned', async () => {
    const id = await fixture.rows.device(fixture.account, 'C02AAAAAAAA1', {
      auto_assign: false,
      profile_uuid: U1,
    });
    await setAccount({ default_dep_profile_id: fixture.profile });
    await remove();
    const enrolled = {
      udid: 'a-udid',
      serial_number: 'C02AAAAAAAA1',
      is_enrolled: true,
      enrolled_at: new Date('2026-01-02T03:04:05Z'),
    };
    const spare = { serial_number: 'C02AAAAAAAA1' };
    const made = await fixture.knex('devices').insert([spare, enrolled]).returning('id');
    expect(await fixture.reconcile()).toEqual({ ...NOTHING, records_made: 1, unassigned: 1 });
    expect(id).not.toBe(made[1].id);
    expect(await fixture.rows.one('C02AAAAAAAA1')).toMatchObject({
      device_id: made[1].id,
      is_enrolled: true,
      enrolled_at: enrolled.enrolled_at,
      stage: 'enrolled',
    });
    expect(await fixture.knex('devices').count()).toEqual([{ count: 2 }]);
  });

  it('gets is_dep back when that was cleared, and its profile too', async () => {
    const id = await fixture.rows.device(fixture.account, 'C02AAAAAAAA1');
    await fixture.rows.device(fixture.account, 'C02AAAAAAAA2', { removed_at: new Date() });
    await fixture.rows.give([id], fixture.profile);
    await fixture.send();
    await fixture.knex('devices').update({ is_dep: false, enrollment_state: null });
    const enrolled_at = new Date('2026-01-02T03:04:05Z');
    await fixture.knex('devices').where({ id }).update({ is_enrolled: true, enrolled_at });
    expect(await fixture.reconcile()).toEqual({ ...NOTHING, records_made: 1 });
    expect(await fixture.knex('devices').orderBy('id')).toMatchObject([
      { is_dep: true, enrollment_state: 'dep', dep_profile_id: fixture.profile },
      { is_dep: false, enrollment_state: null },
    ]);
    expect(await fixture.rows.one('C02AAAAAAAA1')).toMatchObject({
      stage: 'enrolled',
      enrolled_at,
    });
    expect(await fixture.reconcile()).toEqual(NOTHING);
  });

  it('gets none when Apple has removed it', async () => {
    await fixture.rows.device(fixture.account, 'C02AAAAAAAA1', { removed_at: new Date() });
    await remove();
    expect([await fixture.reconcile(), await fixture.knex('devices')]).toEqual([NOTHING, []]);
  });
});

describe('the result of a reconciliation', () => {
  it('is shown at the account, in the log and in the audit trail, with the remaining failures', async () => {
    await setAccount({ default_dep_profile_id: fixture.profile });
    await fixture.rows.device(fixture.account, 'C02AAAAAAAA1', { last_error: 'disown: no' });
    await fixture.rows.device(fixture.account, 'C02AAAAAAAA2', {
      last_error: 'no',
      removed_at: new Date(),
    });
    fixture.stale = [fixture.profile];
    const report = { ...NOTHING, auto_assigned: 1, redefined: 1, failing: 1 };
    expect(await fixture.reconcile()).toEqual(report);
    const stored = await fixture.knex('dep_accounts').where({ id: fixture.account }).first();
    const at = stored.reconciled_at.toISOString();
    expect(stored.reconcile_report).toEqual({ ...report, at });
    const { failing: _, ...done } = report;
    const audit = {
      action: 'dep_accounts.reconcile',
      target_id: String(fixture.account),
      details: done,
    };
    const audited = fixture.knex('audit_events').where({ target_id: String(fixture.account) });
    expect(await audited.clone()).toEqual([expect.objectContaining(audit)]);
    expect(fixture.log.lines).toEqual([
      expect.objectContaining({ ...report, accountId: fixture.account }),
    ]);
    fixture.stale = [];
    expect(await fixture.reconcile()).toEqual({ ...NOTHING, failing: 1 });
    expect(fixture.log.lines).toHaveLength(1);
    expect(await audited.clone()).toHaveLength(1);
    const later = await fixture.knex('dep_accounts').where({ id: fixture.account }).first();
    expect(later.reconcile_report).toEqual({ ...report, at });
    expect(later.reconciled_at.getTime()).toBeGreaterThan(Date.parse(at));
  });

  it('is empty for a deleted account', async () => {
    await fixture.knex('dep_profiles').delete();
    await fixture.knex('dep_accounts').delete();
    expect([await fixture.reconcile(), fixture.jobs.asked]).toEqual([NOTHING, []]);
  });
});
