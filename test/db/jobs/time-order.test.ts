import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { checkTimeOrder, type RisingColumn } from '../../../src/db/jobs/time-order.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

interface Listed {
  data: { attributes: { actor: string } }[];
  meta: { total: number };
}

const AUDIT: RisingColumn = { table: 'audit_events', column: 'at' };
let app: TestApp;
let knex: Knex;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  knex = app.db.knex;
});
afterAll(() => app.stop());
beforeEach(async () => {
  await knex('time_order_checks').delete();
  await knex.raw('alter table audit_events disable trigger user');
  await knex('audit_events').delete();
});

const START = Date.UTC(2026, 0, 1);
const minutes = (count: number) => new Date(START + count * 60_000);

/** Events with these times, in minutes, in the order of their ids. */
const add = (times: number[]) =>
  knex('audit_events').insert(
    times.map((time) => ({
      at: minutes(time),
      actor: `${time}`,
      role: 'admin',
      action: 'x',
      target_type: 'x',
    })),
  );
const state = async () => {
  const [row] = await knex('time_order_checks').select(
    'checked_to',
    'latest',
    knex.raw('extract(epoch from most_behind)::integer as behind'),
  );
  return row;
};
/** Compares all rows in steps; transactions of other tests may take a while to end. */
async function checkAll(limit = 100): Promise<number[]> {
  const compared: number[] = [];
  while (compared.length === 0 || compared.at(-1) === limit) {
    const count = await checkTimeOrder(knex, AUDIT, limit);
    if (count > 0) compared.push(count);
    else await sleep(20);
  }
  return compared;
}
const lastId = async () => (await knex('audit_events').max('id as id'))[0]?.id;

/** The times that a list shows, in minutes, with its total counted. */
async function listed(filter: object): Promise<string> {
  const query = new URLSearchParams({
    filter: JSON.stringify([{ name: 'at', ...filter }]),
    'page[total]': 'exact',
    'page[size]': '100',
    sort: 'id',
  });
  const answer = await adminApi(app).get(`/audit_events?${query}`).expect(200);
  const { data, meta } = answer.body as Listed;
  expect(meta.total).toBe(data.length);
  return data.map(({ attributes }) => attributes.actor).join(' ');
}

/** Asserts that each range of time has its rows and no others, whatever the ids are. */
async function expectRight(times: number[]): Promise<void> {
  const limits = [-1, 3, 50, 101, 5_000, 20_000];
  for (const limit of limits) {
    const val = minutes(limit).toISOString();
    const matching = (rule: (time: number) => boolean) => times.filter(rule).join(' ');
    expect(await listed({ op: 'ge', val })).toBe(matching((time) => time >= limit));
    expect(await listed({ op: 'lt', val })).toBe(matching((time) => time < limit));
    const range = [minutes(limit - 60).toISOString(), val];
    const isBetween = (time: number) => time >= limit - 60 && time <= limit;
    expect(await listed({ op: 'between', val: range })).toBe(matching(isBetween));
  }
}

/** Twice an hour of events, one each two minutes. */
const STEADY = Array.from({ length: 60 }, (_, index) => index * 2);

describe('the order of times', () => {
  it('is compared in steps, up to the last row that was seen before', async () => {
    await add(STEADY.slice(0, 50));
    expect(await checkAll(20)).toEqual([20, 20, 10]);
    expect(await state()).toEqual({ checked_to: await lastId(), latest: minutes(98), behind: 0 });
    await add([40, 102]);
    expect(await checkAll(20)).toEqual([2]);
    expect(await state()).toEqual({
      checked_to: await lastId(),
      latest: minutes(102),
      behind: 58 * 60,
    });
  });

  it('waits for transactions that may still add rows among those seen', async () => {
    await add(STEADY);
    const open = await knex.transaction();
    await open('audit_events').insert({
      at: minutes(-999),
      actor: 'x',
      role: 'x',
      action: 'x',
      target_type: 'x',
    });
    await add([121]);
    expect(await checkTimeOrder(knex, AUDIT, 100)).toBe(0);
    expect(await checkTimeOrder(knex, AUDIT, 100)).toBe(0);
    await open.commit();
    expect(await checkAll()).toEqual([62]);
    expect(await state()).toMatchObject({ behind: (999 + 118) * 60 });
  });

  it('is compared again after a restore, where transactions have lower numbers', async () => {
    await add(STEADY);
    await checkTimeOrder(knex, AUDIT, 100);
    await knex('time_order_checks').update({ seen_before: '9999999999' });
    expect(await checkTimeOrder(knex, AUDIT, 100)).toBe(60);
  });
});

describe('a list of a range of time', () => {
  it.each([
    ['the clock was right', STEADY],
    ['the clock was a day ahead for one row', [...STEADY.slice(0, 30), 1_500, ...STEADY.slice(30)]],
    ['the clock was set back for the last rows', [...STEADY, -10_000, -9_999, -9_998]],
    ['the clock was behind at first and ahead at last', [-20_000, ...STEADY, 18_000, 121, 122]],
  ])('has all its rows: %s', async (_name, times) => {
    await add(times);
    await expectRight(times);
    await checkAll();
    await expectRight(times);
    // Rows that are not compared yet, after those that are.
    await add([130, 4_000, 7]);
    await expectRight([...times, 130, 4_000, 7]);
  });
});
