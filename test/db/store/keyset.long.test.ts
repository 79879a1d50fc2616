import type { Sql } from '../../../src/db/connection/statement-runner.js';
import { allRanges, rangesAfter, sortKeys } from '../../../src/db/store/keyset.js';
import { rangeSql, rowsSql } from '../../../src/db/store/list-query.js';
import { ResourceStore } from '../../../src/db/store/resource-store.js';
import { runSql } from '../../../src/db/store/resource-store-sql.js';
import type {
  Keyset,
  ListQuery,
  ListResult,
  SortField,
  Store,
} from '../../../src/jsonapi/store.js';
import { devices } from '../../../src/resources/devices/devices.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { noteListStatements } from '../../helpers/list-statements.js';

const ROWS = 50;
const COLUMNS = ['device_name', 'os_version', 'device_capacity', 'is_supervised', 'enrolled_at'];

let database: TestDatabase;
let store: Store;

/** Park and Miller's generator: the same rows in every run. */
let state = 20_261_122;
function random(below: number): number {
  state = (state * 48_271) % 2_147_483_647;
  return state % below;
}

function pick<T>(values: readonly T[]): T {
  return values[random(values.length)] as T;
}

/** Few values, so that there are ties, and a third of them missing. */
function anyDevice() {
  return {
    device_name: pick(['', 'b', 'B', 'ä?', 'a\\', null, null]),
    os_version: pick(['17.0', '18.1', null]),
    device_capacity: pick([0.1, 64, 1e300, -5.5, null]),
    is_supervised: pick([true, false]),
    // Within one millisecond of each other.
    enrolled_at: pick(['2026-03-26T23:42:09.000001Z', '2026-03-26T23:42:09.000002Z', null]),
  };
}

beforeAll(async () => {
  database = await createTestDatabase();
  store = new ResourceStore(database.db, Buffer.alloc(32));
  await database.db.knex('devices').insert(Array.from({ length: ROWS }, anyDevice));
});
afterAll(() => database.drop());

function sortOf(text: string): SortField[] {
  if (text === '') return [];
  return text.split(',').map((name) => {
    const descending = name.startsWith('-');
    return { column: descending ? name.slice(1) : name, descending };
  });
}

function queryOf(sort: string, size: number): ListQuery {
  const page = { number: 1, size };
  return {
    shape: devices,
    columns: COLUMNS,
    filter: [],
    sort: sortOf(sort),
    page,
    totalMode: 'upToLimit',
  };
}

function ids({ rows }: ListResult): number[] {
  return rows.map(({ id }) => id);
}

/** All pages from one end to the other, each page in the list's own order. */
async function walk(
  query: ListQuery,
  direction: Keyset['direction'],
  between?: () => Promise<void>,
) {
  const pages: number[][] = [];
  let keyset: Keyset = { direction, position: null };
  for (;;) {
    const result = await store.list({ ...query, keyset });
    pages.push(ids(result));
    const position = direction === 'after' ? result.edges?.last : result.edges?.first;
    if (!result.edges?.hasMore || !position) return pages;
    keyset = { direction, position };
    await between?.();
  }
}

const SORTS = [
  '',
  '-id',
  'device_name',
  '-device_name',
  'device_capacity',
  '-enrolled_at',
  'enrolled_at',
  'is_supervised',
  'device_name,os_version',
  '-device_name,-os_version',
  'device_name,-os_version',
  '-os_version,device_name',
  '-os_version,-id',
  '-os_version,id',
  'is_supervised,-id',
  'enrolled_at,-id',
  'os_version,-enrolled_at,device_capacity',
  '-is_supervised,-enrolled_at,-device_name',
];

describe('rows without a value', () => {
  it.each(SORTS)('come last in the order "%s", in pages by number too', async (sort) => {
    const { rows: full } = await store.list(queryOf(sort, 1000));
    const [{ column } = { column: 'id' }] = sortOf(sort);
    const missing = full.map((row) => row[column] === null);
    expect(missing).toEqual([...missing].sort());
    for (const size of [3, 7, ROWS]) {
      const pages: number[][] = [];
      for (let number = 1; number <= Math.ceil(ROWS / size) + 2; number += 1) {
        const result = await store.list({ ...queryOf(sort, size), page: { number, size } });
        expect(result.total).toBe(ROWS);
        pages.push(ids(result));
      }
      expect([size, pages.flat()]).toEqual([size, full.map(({ id }) => id)]);
    }
  });

  it('come last among rows that are equal in the column before', async () => {
    const { rows } = await store.list(queryOf('is_supervised,-os_version', 1000));
    const missing = rows
      .filter((row) => row.is_supervised === true)
      .map((row) => row.os_version === null);
    expect(missing).toContain(true);
    expect(missing).toEqual([...missing].sort());
  });
});

describe('pages by keyset', () => {
  it.each(SORTS)('in the order "%s" are the whole list, there and back', async (sort) => {
    const full = ids(await store.list(queryOf(sort, 1000)));
    expect(full).toHaveLength(ROWS);
    for (const size of [3 + random(5), 10 + random(20), ROWS, ROWS + 1]) {
      const query = queryOf(sort, size);
      const forward = await walk(query, 'after');
      expect([size, forward.flat()]).toEqual([size, full]);
      expect(forward.slice(0, -1).every((page) => page.length === size)).toBe(true);
      const backward = await walk(query, 'before');
      expect([size, backward.reverse().flat()]).toEqual([size, full]);
    }
  });

  it.each(['device_name', '-device_name', 'os_version,-enrolled_at', '-id'])(
    'in the order "%s" miss and repeat nothing that stays while rows come and go',
    async (sort) => {
      const { knex } = database.db;
      for (const direction of ['after', 'before'] as const) {
        const passing: number[] = [];
        const full = ids(await store.list(queryOf(sort, 1000)));
        const pages = await walk(queryOf(sort, 4), direction, async () => {
          if (passing.length > 3) await knex('devices').whereIn('id', passing.splice(0, 2)).del();
          const rows = await knex('devices')
            .insert([anyDevice(), anyDevice(), anyDevice()])
            .returning('id');
          passing.push(...rows.map(({ id }) => Number(id)));
        });
        const seen = (direction === 'after' ? pages : pages.reverse()).flat();
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen.filter((id) => full.includes(id))).toEqual(full);
        await knex('devices').whereNotIn('id', full).del();
      }
    },
  );

  it('continue from a deleted row', async () => {
    const query = queryOf('device_name', 10);
    const full = ids(await store.list({ ...query, page: { number: 1, size: 1000 } }));
    const first = await store.list({ ...query, keyset: { direction: 'after', position: null } });
    const position = first.edges?.last ?? null;
    await database.db.knex('devices').where({ id: position?.id }).del();
    const second = await store.list({ ...query, keyset: { direction: 'after', position } });
    expect(ids(second)).toEqual(full.slice(10, 20));
    const back = await store.list({ ...query, keyset: { direction: 'before', position } });
    expect(ids(back)).toEqual(full.slice(0, 9));
  });

  it('count the total only once', async () => {
    const counts: string[] = [];
    const forget = noteListStatements(database.db, (sql) => {
      if (sql.includes('count(*)')) counts.push(sql);
    });
    const query = queryOf('device_name', 1000);
    const whole = await store.list({ ...query, keyset: { direction: 'before', position: null } });
    expect([counts.length, whole.total]).toEqual([0, whole.rows.length]);
    const position = { keys: ['b'], id: 1, total: [500_000, true] as [number, boolean] };
    const keyset: Keyset = { direction: 'after', position };
    const carried = await store.list({ ...query, keyset });
    expect([counts.length, carried.total, carried.totalIsEstimate]).toEqual([0, 500_000, true]);
    expect(carried.edges?.last?.total).toEqual([500_000, true]);
    const exact = await store.list({ ...query, keyset, totalMode: 'exact' });
    expect([counts.length, exact.total]).toEqual([1, whole.total]);
    forget();
  });
});

describe('the plan of a page by keyset', () => {
  beforeAll(async () => {
    const name = `case when i % 10 = 0 then null else 'name ' || i end`;
    await database.db.knex.raw(
      `insert into devices (device_name) select ${name} from generate_series(1, 5000) as i`,
    );
    await database.db.knex.raw('analyze devices');
  });

  /** The part of the plan below the limit: above it the rows of one page are put in order. */
  async function searchOf({ text, bindings }: Sql): Promise<string | undefined> {
    const plan = await runSql<{ 'QUERY PLAN': string }>(database.db.knex, {
      text: `explain ${text}`,
      bindings,
    });
    const lines = plan.map((line) => line['QUERY PLAN']).join('\n');
    return lines.split('Limit')[1];
  }

  it.each(['device_name', '-device_name'])(
    'of the first page in the order "%s" sorts nothing, by number and by cursor',
    async (sort) => {
      const query = queryOf(sort, 100);
      const keys = sortKeys(query);
      const [range = null] = allRanges(keys);
      for (const toSql of [rowsSql, rangeSql]) {
        const search = await searchOf(toSql(query, { keys, range, limit: 101 }));
        expect(search).toMatch(/Index (Only )?Scan/);
        expect(search).not.toMatch(/Seq Scan|Sort|Bitmap/);
      }
    },
  );

  it.each(['device_name', '-device_name', '', '-id'])(
    'in the order "%s" starts at its place in the index and sorts nothing',
    async (sort) => {
      const query = queryOf(sort, 100);
      const keys = sortKeys(query);
      for (const value of ['name 2500', null]) {
        const ranges = rangesAfter(keys, { keys: sort.includes('name') ? [value] : [], id: 2500 });
        for (const range of ranges) {
          const search = await searchOf(rangeSql(query, { keys, range, limit: 101 }));
          expect(search).toMatch(/Index (Only )?Scan/);
          expect(search).not.toMatch(/Seq Scan/);
          // As few as are without a value here may as well be sorted.
          if (value === null) continue;
          expect(search).toMatch(/Index Cond/);
          expect(search).not.toMatch(/Sort|Filter|Bitmap/);
        }
      }
    },
  );
});
