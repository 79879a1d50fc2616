import { adminApi, startApp, type TestApp } from '../helpers/app.js';

let app: TestApp;

// Numbers around the limit up to which matches are counted: side by side in the table, and spread over it.
const FILL = `
insert into tags (name, color) select 'tag ' || n, case
    when n <= 99500 then '000001' when n <= 130000 then '000002'
    when n % 3 = 0 then '000003' else '000004' end
  from generate_series(1, 500000) n`;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  await app.db.knex.raw(FILL);
  await app.db.knex.raw('vacuum (analyze) tags');
}, 60_000);
afterAll(() => app.stop());

async function totalOf(color: string): Promise<{ total: number; total_is_estimate?: boolean }> {
  const { body } = await adminApi(app).get(`/tags?filter[color]=${color}&page[size]=1`);
  return body.meta;
}

describe('the total of a filtered list of many rows', () => {
  it('is exact below 100,000, even where all matches lie side by side', async () => {
    expect(await totalOf('000001')).toEqual({ count: 1, total: 99_500 });
    expect(await totalOf('000002')).toEqual({ count: 1, total: 30_500 });
  });

  it('is an estimate above, by a hundredth of the table', async () => {
    for (const [color, truth] of [
      ['000003', 123_333],
      ['000004', 246_667],
    ] as const) {
      const { total, total_is_estimate: isEstimate } = await totalOf(color);
      expect([color, isEstimate]).toEqual([color, true]);
      expect(Math.abs(total - truth)).toBeLessThan(0.3 * truth);
    }
  });

  it('is not raised by a page beyond the end, which shows how many there are at most', async () => {
    const far = async (number: number) => {
      const query = `filter[color]=000003&page[size]=100&page[number]=${number}`;
      const { body } = await adminApi(app).get(`/tags?${query}`);
      return [body.meta.count, body.meta.total, body.meta.total_is_estimate];
    };
    const { total } = await totalOf('000003');
    expect(await far(10_000)).toEqual([0, total, true]);
    const [count, atMost] = await far(1_235);
    expect([count, atMost <= 123_400]).toEqual([0, true]);
  });
});
