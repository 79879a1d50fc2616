import {
  storeUpdateSchedule,
  storeUpdateStatus,
  type UpdateList,
} from '../../../src/db/devices/update-states.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

let database: TestDatabase;
let devices: number[];

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  const { knex } = database.db;
  await knex('devices').delete();
  const rows = await knex('devices')
    .insert([1, 2].map((n) => ({ model: `${n}` })))
    .returning('id');
  devices = rows.map(({ id }) => id);
});
afterAll(() => database.drop());

const listsOf = (...rows: object[][]): UpdateList[] =>
  devices.map((deviceId, index) => ({ deviceId, rows: (rows[index] ?? []) as UpdateList['rows'] }));

/** How many statements it takes. */
async function statements(
  store: typeof storeUpdateStatus,
  lists: readonly UpdateList[],
): Promise<number> {
  const sent: string[] = [];
  const listener = ({ sql }: { sql: string }) => sent.push(sql);
  database.db.knex.on('query', listener);
  await database.db.knex.transaction((trx) => store(trx, lists));
  database.db.knex.removeListener('query', listener);
  return sent.filter((sql) => sql.includes('available_os_updates')).length;
}

async function stored() {
  const rows = await database.db
    .knex('available_os_updates')
    .orderBy(['device_id', 'product_key'])
    .select('device_id', 'product_key', 'status', database.db.knex.raw('xmin as written'));
  return devices.map((id) => rows.filter(({ device_id }) => device_id === id));
}

const shown = (rows: { product_key: string; status: string | null }[][]) =>
  rows.map((own) => own.map(({ product_key, status }) => [product_key, status]));

describe('the states of updates that several devices report', () => {
  it('take two statements, whatever the number of devices', async () => {
    const a = { product_key: 'a', status: 'Idle' };
    const lists = listsOf([a, { product_key: 'b', status: 'Idle' }], [a]);
    expect(await statements(storeUpdateStatus, lists)).toBe(2);
    expect(await statements(storeUpdateSchedule, lists)).toBe(1);
    expect(shown(await stored())).toEqual([
      [
        ['a', 'Idle'],
        ['b', 'Idle'],
      ],
      [['a', 'Idle']],
    ]);
  });

  it('are not written where they are equal; the last of two for an update counts', async () => {
    const first = listsOf([{ product_key: 'a', status: 'Idle' }], [{ product_key: 'a' }]);
    await statements(storeUpdateStatus, first);
    const before = await stored();
    const twice = [
      { product_key: 'a', status: 'Downloading' },
      { product_key: 'a', status: 'Installing' },
    ];
    await statements(storeUpdateStatus, listsOf([{ product_key: 'a', status: 'Idle' }], twice));
    const after = await stored();
    expect(after[0]).toEqual(before[0]);
    expect(shown(after)[1]).toEqual([['a', 'Installing']]);
  });

  it('without any run no statement', async () => {
    expect(await statements(storeUpdateStatus, [])).toBe(0);
    expect(await statements(storeUpdateSchedule, listsOf())).toBe(0);
  });
});
