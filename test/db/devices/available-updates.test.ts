import { replaceUpdates } from '../../../src/db/devices/available-updates.js';
import type { InventoryRow } from '../../../src/db/devices/inventory-repository.js';
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
    .insert([1, 2, 3].map((n) => ({ model: `${n}` })))
    .returning('id');
  devices = rows.map(({ id }) => id);
});
afterAll(() => database.drop());

const update = (product_key: string, facts: InventoryRow = {}): InventoryRow => ({
  product_key,
  version: '15.6',
  deferred_until: '2026-05-06T07:08:09.000Z',
  app_identifiers_to_close: ['a', 'b'],
  ...facts,
});

/** Lists of the devices in their order; undefined for a device without a list. */
function report(...lists: (InventoryRow[] | undefined)[]): Promise<void> {
  const given = lists.flatMap((rows, index) =>
    rows === undefined ? [] : [{ deviceId: devices[index] ?? 0, rows }],
  );
  return database.db.knex.transaction((trx) => replaceUpdates(trx, given));
}

/** The updates of each device; `written` is the transaction that wrote the row. */
async function stored() {
  const { knex } = database.db;
  const rows = await knex('available_os_updates')
    .orderBy(['device_id', 'product_key', 'id'])
    .select('id', 'device_id', 'product_key', 'is_critical', knex.raw('xmin as written'));
  return devices.map((id) => rows.filter(({ device_id }) => device_id === id));
}

const keysIn = (rows: { product_key: string }[]) => rows.map(({ product_key }) => product_key);

describe('the updates that a batch of devices lists', () => {
  it('take as many statements for three devices as for one', async () => {
    const lists = [[update('a'), update('b')], [update('a')], [update('c')]];
    const sent: string[] = [];
    const listener = ({ sql }: { sql: string }) => sent.push(sql);
    database.db.knex.on('query', listener);
    await report(...lists);
    database.db.knex.removeListener('query', listener);
    expect(sent.filter((sql) => /available_os_updates|jsonb_populate/.test(sql))).toHaveLength(3);
    expect((await stored()).map(keysIn)).toEqual([['a', 'b'], ['a'], ['c']]);
  });

  it('are not written where they are unchanged, and replaced where they are not', async () => {
    await report([update('a'), update('b')], [update('a')], [update('a')]);
    const [first, second, third] = await stored();
    await report([update('a'), update('c')], [update('a', { is_critical: true })]);
    const after = await stored();
    expect(after.map(keysIn)).toEqual([['a', 'c'], ['a'], ['a']]);
    expect([after[0]?.[0], after[2]]).toEqual([first?.[0], third]);
    expect(after[1]).toMatchObject([{ is_critical: true }]);
    expect(after[1]?.[0]?.id).not.toBe(second?.[0]?.id);
  });

  it('are gone once a device lists none, and only of that device', async () => {
    await report([update('a')], [update('a')]);
    await report([]);
    expect((await stored()).map(keysIn)).toEqual([[], ['a'], []]);
  });

  it('are as many as are listed, equal ones too', async () => {
    await report([update('a'), update('a'), {}]);
    const before = await stored();
    expect(before.map((rows) => rows.length)).toEqual([3, 0, 0]);
    await report([update('a'), {}, update('a')]);
    expect(await stored()).toEqual(before);
    await report([update('a')]);
    expect((await stored()).map(keysIn)).toEqual([['a'], [], []]);
  });
});
