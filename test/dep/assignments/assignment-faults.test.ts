import { DepError } from '../../../src/dep/client/dep-error.js';
import { AppError } from '../../../src/errors.js';
import { AssignmentFixture, DONE, MINUTE, U1, U2 } from './assignment-fixture.js';
import { everySuccess } from './fake-dep-service.js';

let fixture: AssignmentFixture;

beforeAll(async () => {
  fixture = await AssignmentFixture.create();
});
afterAll(() => fixture.stop());
beforeEach(() => fixture.reset());

describe('a serial number that Apple does not take', () => {
  const [GOOD, ALIEN, FAILING, ABSENT] = [
    'C02GOOD00001',
    'C02ALIEN0001',
    'C02FAIL00001',
    'C02NONE00001',
  ];

  it('shows its failure and is sent again, later each time', async () => {
    const words = new Map([
      [GOOD, 'SUCCESS'],
      [ALIEN, 'NOT_ACCESSIBLE'],
      [FAILING, 'FAILED'],
    ]);
    fixture.apple.answer = () => words;
    await fixture.rows.give(await fixture.devices([GOOD, ALIEN, FAILING, ABSENT]), fixture.profile);
    await fixture.send();
    expect(await fixture.stateOf(GOOD)).toEqual({ ...DONE, uuid: U1 });
    const failed = { uuid: null, status: null, stage: 'unassigned', attempts: 1, due: 5 };
    expect(await fixture.stateOf(ALIEN)).toEqual({
      ...failed,
      result: 'NOT_ACCESSIBLE',
      error:
        'Apple does not list this serial number for the account: assign it to this server in ' +
        'Apple Business Manager or Apple School Manager and sync the account',
    });
    expect(await fixture.stateOf(FAILING)).toMatchObject({ ...failed, result: 'FAILED' });
    expect(await fixture.stateOf(ABSENT)).toMatchObject({ ...failed, result: 'ABSENT' });
    expect((await fixture.stateOf(ABSENT)).error).toMatch(/does not mention/);
    const pauses = [];
    for (let attempt = 2; attempt <= 5; attempt += 1) {
      await fixture
        .knex('dep_devices')
        .where({ serial_number: ALIEN })
        .update({ assignment_due_at: new Date(Date.now() - 1) });
      await fixture.send();
      pauses.push((await fixture.stateOf(ALIEN)).due);
    }
    expect(pauses).toEqual([60, 360, 1440, 1440]);
    const device_id = (await fixture.rows.one(ALIEN)).device_id as number;
    await fixture.rows.give([device_id], null);
    await fixture.send();
    expect(await fixture.stateOf(ALIEN)).toMatchObject({ error: null, attempts: 0, due: null });
    words.set(ALIEN, 'SUCCESS');
    await fixture.rows.give([device_id], fixture.profile);
    await fixture.send();
    expect(await fixture.stateOf(ALIEN)).toEqual({ ...DONE, uuid: U1 });
  });

  it('is not sent again before Apple allows it', async () => {
    await fixture.rows.give(await fixture.devices([GOOD, ALIEN, FAILING]), fixture.profile);
    const words = new Map([
      [GOOD, 'SUCCESS'],
      [ALIEN, 'THROTTLED'],
      [FAILING, 'FAILED'],
    ]);
    const retryAt = new Date(Date.now() + 42 * MINUTE);
    fixture.apple.answer = () => Object.assign(words, { retryAt });
    await fixture.send();
    expect(await fixture.stateOf(ALIEN)).toMatchObject({
      result: 'THROTTLED',
      attempts: 1,
      due: 42,
    });
    expect((await fixture.stateOf(ALIEN)).error).toMatch(/^Apple limits how often/);
    expect(await fixture.stateOf(FAILING)).toMatchObject({ result: 'FAILED', due: 5 });
    expect(await fixture.stateOf(GOOD)).toEqual({ ...DONE, uuid: U1 });
  });

  it('loses its failure once another profile, or none, is desired', async () => {
    const other = await fixture.rows.profile(fixture.account, { uuid: U2 });
    const ids = await fixture.devices([GOOD, ALIEN, FAILING]);
    await fixture.rows.give(ids, fixture.profile);
    fixture.apple.answer = (_uuid, serials) => new Map(serials.map((serial) => [serial, 'FAILED']));
    await fixture.send();
    await fixture.rows.give(ids.slice(0, 1), other);
    await fixture.rows.give(ids.slice(1, 2), null);
    const unknown = { result: null, attempts: 0, error: null, due: 0 };
    expect(await fixture.stateOf(GOOD)).toMatchObject(unknown);
    expect(await fixture.stateOf(ALIEN)).toMatchObject(unknown);
    expect(await fixture.stateOf(FAILING)).toMatchObject({ result: 'FAILED', attempts: 1 });
  });

  it('does not pass its failure to the profile that is desired since', async () => {
    const other = await fixture.rows.profile(fixture.account, { uuid: U2, status: 'pending' });
    const ids = await fixture.devices([GOOD]);
    await fixture.rows.give(ids, fixture.profile);
    fixture.apple.answer = async (_uuid, serials) => {
      await fixture.rows.give(ids, other);
      return new Map(serials.map((serial) => [serial, 'FAILED']));
    };
    await fixture.send();
    expect(await fixture.stateOf(GOOD)).toMatchObject({ result: null, attempts: 0, error: null });
  });

  it('is isolated when Apple refuses the whole batch because of it', async () => {
    const serials = Array.from({ length: 64 }, (_, n) => `C02BATCH${1000 + n}`);
    const bad = new Set([serials[17], serials[40]]);
    await fixture.rows.give(await fixture.devices(serials), fixture.profile);
    fixture.apple.answer = (uuid, given) => {
      if (!given.some((serial) => bad.has(serial))) return everySuccess(uuid, given);
      throw new DepError('refused', 'refused', { status: 400, text: 'INVALID_SERIAL' });
    };
    await fixture.send();
    const knex = fixture.knex;
    const good = await knex('dep_devices').where({ profile_uuid: U1, assignment_due_at: null });
    expect(good).toHaveLength(62);
    expect(await fixture.stateOf(serials[17] ?? '')).toEqual({
      uuid: null,
      status: null,
      stage: 'unassigned',
      attempts: 1,
      due: 5,
      result: 'REFUSED',
      error:
        'Apple refuses this serial number (INVALID_SERIAL): check that it is right; ' +
        'retried automatically',
    });
    expect(fixture.apple.calls.length).toBeLessThan(30);
  });

  it('is not searched for when Apple refuses everything', async () => {
    await fixture.rows.give(
      await fixture.devices(Array.from({ length: 64 }, (_, n) => `C02X${n}`)),
      fixture.profile,
    );
    fixture.apple.answer = () => {
      throw new DepError('refused', 'refused', { status: 400, text: 'NO' });
    };
    await fixture.send();
    expect(fixture.apple.calls.length).toBeLessThan(80);
    const waiting = await fixture.knex('dep_devices').where({ assignment_result: 'REFUSED' });
    expect(waiting).toHaveLength(64);
  });
});

describe("when Apple's service can't be used", () => {
  const again = (kind: DepError['kind']) => {
    fixture.apple.answer = () => {
      throw new DepError(kind, 'no');
    };
  };
  let id: number;
  beforeEach(async () => {
    [id = 0] = await fixture.devices(['C02AAAAAAAA1']);
    await fixture.rows.give([id], fixture.profile);
  });

  it.each(['terms_not_signed', 'token_rejected', 'token_expired', 'lab_off'] as const)(
    'a due assignment stays due until an admin has acted: %s',
    async (kind) => {
      again(kind);
      await fixture.send();
      expect([fixture.jobs.asked, (await fixture.stateOf('C02AAAAAAAA1')).due]).toEqual([[], 0]);
      const error = "Apple's service cannot be used (no): see the account";
      expect(await fixture.stateOf('C02AAAAAAAA1')).toMatchObject({ attempts: 0, error });
    },
  );

  it.each([
    [0, 1],
    [8, 8],
    [600, 30],
  ])(
    'after %d minutes of failures the service is called again %d minutes later',
    async (lasted, pause) => {
      again('unreachable');
      const status_at = new Date(Date.now() - lasted * MINUTE);
      await fixture.knex('dep_accounts').update({ status: 'unreachable', status_at });
      await fixture.send();
      expect(await fixture.stateOf('C02AAAAAAAA1')).toMatchObject({
        due: pause,
        error: expect.stringMatching(
          /^Apple's service could not be used \(no\): retried at 20\S+Z$/,
        ) as string,
      });
      expect(fixture.jobs.asked).toEqual([
        ['assign', fixture.account, (await fixture.rows.one('C02AAAAAAAA1')).assignment_due_at],
      ]);
    },
  );

  it('a device shows until when Apple asks to wait, in place of its former failure', async () => {
    fixture.apple.answer = () => new Map([['C02AAAAAAAA1', 'FAILED']]);
    await fixture.send();
    const retryAt = new Date('2099-01-02T03:04:05.678Z');
    fixture.apple.answer = () => {
      throw new DepError('throttled', 'no', { retryAt });
    };
    const isDue = () => fixture.knex('dep_devices').update({ assignment_due_at: new Date(0) });
    await isDue();
    await fixture.send();
    const error = 'Apple asks to wait until 2099-01-02T03:04:05Z';
    expect(await fixture.stateOf('C02AAAAAAAA1')).toMatchObject({ error, result: 'FAILED' });
    fixture.apple.answer = everySuccess;
    await isDue();
    await fixture.send();
    expect(await fixture.stateOf('C02AAAAAAAA1')).toEqual({ ...DONE, uuid: U1 });
  });

  it('a waiting assignment that is no longer desired has no failure left', async () => {
    again('unreachable');
    await fixture.send();
    await fixture.rows.give([id], null);
    await fixture.send();
    expect(await fixture.stateOf('C02AAAAAAAA1')).toMatchObject({ error: null, due: null });
  });

  it('an account without a token, or a deleted one, causes no failure', async () => {
    for (const error of [
      new AppError('no_dep_account', 409, 'x'),
      new AppError('not_found', 404, 'x'),
    ]) {
      fixture.apple.answer = () => {
        throw error;
      };
      await fixture.send();
      expect((await fixture.stateOf('C02AAAAAAAA1')).due).toBe(0);
    }
  });

  it('an unexpected error is thrown, and the claimed assignments are due at once', async () => {
    fixture.apple.answer = () => {
      throw new Error('a fault of ours');
    };
    await expect(fixture.send()).rejects.toThrow('a fault of ours');
    expect((await fixture.stateOf('C02AAAAAAAA1')).due).toBe(0);
  });
});

describe('a definition that Apple does not know', () => {
  beforeEach(async () => {
    await fixture.rows.give(await fixture.devices(['C02AAAAAAAA1']), fixture.profile);
    fixture.apple.answer = () => {
      throw new DepError('profile_not_found', 'no', { text: 'PROFILE_NOT_FOUND' });
    };
  });

  it('is created again, and the devices wait for it', async () => {
    await fixture.send();
    const stored = await fixture.knex('dep_profiles').where({ id: fixture.profile }).first();
    expect([stored.uuid, stored.definition_digest, stored.status, stored.status_text]).toEqual([
      null,
      null,
      'pending',
      'PROFILE_NOT_FOUND',
    ]);
    expect([fixture.jobs.asked, (await fixture.stateOf('C02AAAAAAAA1')).due]).toEqual([
      [['define', fixture.profile]],
      0,
    ]);
    expect((await fixture.stateOf('C02AAAAAAAA1')).error).toBe(
      "Apple no longer knows the definition of profile 'P'; it is defined again",
    );
    expect(fixture.apple.calls).toHaveLength(1);
  });

  it('is not created again right after an upload; its devices are retried later', async () => {
    await fixture.knex('dep_profiles').update({ last_upload_at: new Date() });
    await fixture.send();
    expect([fixture.jobs.asked, (await fixture.stateOf('C02AAAAAAAA1')).due]).toEqual([[], 2]);
    expect((await fixture.stateOf('C02AAAAAAAA1')).error).toMatch(
      /^Apple no longer knows the definition of profile 'P'; retried at 20\S+Z$/,
    );
  });
});
