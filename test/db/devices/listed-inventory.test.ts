import type { InventoryRow } from '../../../src/db/devices/inventory-repository.js';
import { type ListScope, replaceListed } from '../../../src/db/devices/listed-inventory.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

let database: TestDatabase;
let deviceId: number;

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  const [device] = await database.db.knex('devices').insert({}).returning('id');
  deviceId = device.id;
});
afterAll(() => database.drop());

const WHOLE: ListScope = { named: undefined, isManagedOnly: false };

function application(name: string, facts: InventoryRow = {}): InventoryRow {
  return { bundle_identifier: `com.example.${name}`, name, short_version: '1.0', ...facts };
}

async function report(rows: InventoryRow[], scope = WHOLE): Promise<void> {
  await database.db.knex.transaction((trx) =>
    replaceListed(trx, 'installed_applications', [{ deviceId, rows, scope }]),
  );
}

/** `written` is the transaction that wrote the row. */
async function stored() {
  const rows = await database.db
    .knex('installed_applications')
    .where({ device_id: deviceId })
    .orderBy(['name', 'short_version', 'id'])
    .select('id', 'name', 'short_version', 'is_managed', database.db.knex.raw('xmin as written'));
  return rows;
}

describe('a whole list of applications', () => {
  it('does not write unchanged rows', async () => {
    await report([application('a'), application('b', { bundle_size: 7, beta_app: false })]);
    await report([application('a')], { named: undefined, isManagedOnly: true });
    const before = await stored();
    expect(before).toMatchObject([{ is_managed: true }, { is_managed: null }]);
    await report([application('b', { bundle_size: 7, beta_app: false }), application('a')]);
    expect(await stored()).toEqual(before);
  });

  it('replaces changed rows, removes missing ones and adds new ones', async () => {
    const names = ['changed', 'emptied', 'kept', 'missing'];
    await report(names.map((name) => application(name, { bundle_size: 7 })));
    const before = await stored();
    await report([
      application('changed', { bundle_size: 7, short_version: '1.1' }),
      application('emptied'),
      application('kept', { bundle_size: 7 }),
      application('new'),
    ]);
    const after = await stored();
    expect(after.map(({ name }) => name)).toEqual(['changed', 'emptied', 'kept', 'new']);
    expect(after[2]).toEqual(before[2]);
    const ids = before.map(({ id }) => id);
    expect(after.filter(({ id }) => ids.includes(id))).toEqual([before[2]]);
    const [emptied] = await database.db.knex('installed_applications').where({ id: after[1].id });
    expect(emptied.bundle_size).toBeNull();
  });

  it('keeps as many rows of an entry as are listed', async () => {
    await report([application('twice'), application('twice')]);
    const before = await stored();
    expect(before).toHaveLength(2);
    await report([application('twice'), application('twice')]);
    expect(await stored()).toEqual(before);
    await report([application('twice')]);
    expect(await stored()).toHaveLength(1);
    await report([application('twice'), application('twice'), application('twice')]);
    expect(await stored()).toHaveLength(3);
    await report([]);
    expect(await stored()).toEqual([]);
  });

  it('longer than one statement is compared as one', async () => {
    const many = Array.from({ length: 1200 }, (_, index) => application(`n${index}`));
    await report([...many, application('n0')]);
    const before = await stored();
    expect(before).toHaveLength(1201);
    await report([...many, application('n0')]);
    expect(await stored()).toEqual(before);
  });
});
