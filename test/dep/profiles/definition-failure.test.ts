import { DepError } from '../../../src/dep/client/dep-error.js';
import { AppError } from '../../../src/errors.js';
import { DefinitionFixture, uuidOf } from './definition-fixture.js';

let fixture: DefinitionFixture;

beforeAll(async () => {
  fixture = await DefinitionFixture.open();
});
beforeEach(() => fixture.reset());
afterAll(() => fixture.database.drop());

describe('a profile that Apple refuses', () => {
  it("shows Apple's text and the remedy, and keeps its former UUID", async () => {
    const id = await fixture.profile();
    await fixture.definitions().define(id);
    await fixture.change(id, { is_mdm_removable: false, status: 'pending' });
    fixture.answer = () =>
      Promise.reject(new DepError('refused', 'refused (400)', { text: '"FLAGS_INVALID"' }));
    await fixture.definitions().define(id);
    expect(await fixture.row(id)).toMatchObject({
      status: 'failed',
      status_text: '"FLAGS_INVALID"',
      uuid: uuidOf(1),
      status_advice: 'is_mdm_removable false requires is_supervised true.',
    });
    expect(fixture.lines).toMatchObject([
      { level: 40, depProfileId: id, depAccountId: fixture.accountId, text: '"FLAGS_INVALID"' },
    ]);
  });

  it('is shown at its devices until Apple accepts it', async () => {
    const id = await fixture.profile();
    await fixture.definitions().define(id);
    const serials = [{ serial_number: 'A' }, { serial_number: 'B' }];
    const other = await fixture.profile({ status: 'defined' });
    const given = serials.map((row, n) => ({ ...row, dep_profile_id: [id, other][n] }));
    await fixture.knex('devices').insert(given);
    const assigned = { assignment_due_at: null, assignment_result: 'SUCCESS' };
    await fixture.knex('dep_devices').update(assigned);
    const shown = () =>
      fixture
        .knex('dep_devices')
        .orderBy('serial_number')
        .select('assignment_result', 'last_error');
    const sound = { assignment_result: 'SUCCESS', last_error: null };
    const last_error = "profile 'Office' is not at Apple: FLAGS_INVALID";
    const refuse = async () => {
      await fixture.change(id, { department: 'IT', status: 'pending' });
      fixture.answer = () =>
        Promise.reject(new DepError('refused', 'refused (400)', { text: 'FLAGS_INVALID' }));
      await fixture.definitions().define(id);
    };
    await refuse();
    expect(await shown()).toEqual([{ ...sound, last_error }, sound]);
    const [at] = await fixture
      .knex('dep_devices')
      .whereNotNull('last_error')
      .pluck('last_error_at');
    expect(at).toBeInstanceOf(Date);
    // Back to what Apple has.
    await fixture.change(id, { department: null, status: 'pending' });
    await fixture.definitions().define(id);
    expect(await shown()).toEqual([sound, sound]);
    await refuse();
    fixture.answer = () => Promise.resolve(uuidOf(2));
    await fixture.definitions().define(id);
    expect(await shown()).toEqual([{ assignment_result: null, last_error: null }, sound]);
    expect(await fixture.knex('dep_devices').pluck('last_error_at')).toEqual([null, null]);
  });

  it('is sent again after a day', async () => {
    const failed = { status: 'failed', status_text: 'FLAGS_INVALID' };
    const recent = await fixture.profile({
      ...failed,
      status_at: new Date(Date.now() - 23 * 3_600_000),
    });
    const old = await fixture.profile({
      ...failed,
      status_at: new Date(Date.now() - 25 * 3_600_000),
    });
    expect(await fixture.definitions().redefineStale(fixture.accountId)).toEqual([old]);
    expect([(await fixture.row(recent)).status, (await fixture.row(old)).status]).toEqual([
      'failed',
      'pending',
    ]);
    expect(await fixture.jobs()).toEqual([[`dep.define/${old}`, 0]]);
  });
});

describe('a profile that cannot be sent to Apple', () => {
  const inFiveMinutes = new Date(Date.now() + 300_000);

  it.each<[string, Error, string, number[]]>([
    [
      'throttled',
      new DepError('throttled', 'later', { text: 'TOO_MANY', retryAt: inFiveMinutes }),
      'TOO_MANY',
      [5],
    ],
    ['unreachable', new DepError('unreachable', 'no answer'), 'no answer', [1]],
    [
      'terms',
      new DepError('terms_not_signed', 'x', { text: 'T_C_NOT_SIGNED' }),
      'T_C_NOT_SIGNED',
      [],
    ],
    [
      'without a token',
      new AppError('no_dep_account', 409, 'it has no token'),
      'it has no token',
      [],
    ],
  ])('stays pending with the reason: %s', async (_name, error, text, minutes) => {
    const id = await fixture.profile();
    fixture.answer = () => Promise.reject(error);
    await fixture.definitions().define(id);
    expect(await fixture.row(id)).toMatchObject({
      status: 'pending',
      status_text: text,
      uuid: null,
    });
    expect(await fixture.jobs()).toEqual(minutes.map((minute) => [`dep.define/${id}`, minute]));
    expect(await fixture.definitions().redefineStale(fixture.accountId)).toEqual([id]);
  });

  it('fails its job only for errors that are not of Apple', async () => {
    const id = await fixture.profile();
    fixture.answer = () => Promise.reject(new TypeError('a slip'));
    await expect(fixture.definitions().define(id)).rejects.toThrow('a slip');
    expect((await fixture.row(id)).status_text).toBeNull();
  });
});
