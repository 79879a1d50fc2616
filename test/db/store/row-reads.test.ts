import { RowReads } from '../../../src/db/store/row-reads.js';
import { deviceGroups } from '../../../src/resources/devices/device-groups.js';
import { tags } from '../../../src/resources/devices/tags.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

const COLUMNS = ['name', 'color'];

let database: TestDatabase;
let ids: number[];
let statements: string[];

beforeAll(async () => {
  database = await createTestDatabase();
  const { db } = database;
  const made = await db.knex.raw<{ rows: { id: number }[] }>(
    `insert into tags (name) select 'tag ' || n from generate_series(1, 60) n returning id`,
  );
  ids = made.rows.map(({ id }) => id);
  db.pool.on('acquire', () => statements.push('on the pool'));
  db.knex.on('query', ({ sql }: { sql: string }) => statements.push(sql.trim().slice(0, 14)));
});
beforeEach(() => {
  statements = [];
});
afterAll(() => database.drop());

function find(reads: RowReads, id: number, columns = COLUMNS) {
  return reads.find({ shape: tags, id, columns });
}

describe('reads of single rows', () => {
  it('at the same time are 20 to a statement, each with its own row', async () => {
    const reads = new RowReads(database.db);
    const rows = await Promise.all(ids.map((id) => find(reads, id)));
    expect(rows).toEqual(
      ids.map((id, index) => ({ id, name: `tag ${index + 1}`, color: '888888' })),
    );
    expect(statements).toEqual(['on the pool', 'on the pool', 'on the pool']);
  });

  it('of one row give each caller a row of its own, and of none undefined', async () => {
    const reads = new RowReads(database.db);
    const [id = 0] = ids;
    const [one, other, none] = await Promise.all([
      find(reads, id),
      find(reads, id),
      find(reads, 999_999_999),
    ]);
    expect(one).toEqual({ id, name: 'tag 1', color: '888888' });
    expect(other).toEqual(one);
    expect(other).not.toBe(one);
    expect(none).toBeUndefined();
  });

  it('with other columns, or of another table, are other statements', async () => {
    const reads = new RowReads(database.db);
    const [id = 0] = ids;
    const rows = await Promise.all([
      find(reads, id, ['name']),
      find(reads, id, ['color']),
      reads.find({ shape: deviceGroups, id, columns: ['name'] }),
    ]);
    expect(rows).toEqual([{ id, name: 'tag 1' }, { id, color: '888888' }, undefined]);
    expect(statements).toEqual(['on the pool', 'on the pool', 'on the pool']);
  });

  it('that fail leave the others alone', async () => {
    const reads = new RowReads(database.db);
    const [id = 0] = ids;
    const all = await Promise.allSettled([find(reads, id, ['no_column']), find(reads, id)]);
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });
});

describe('new ids', () => {
  it('at the same time are different ones by one statement, and no row has them', async () => {
    const reads = new RowReads(database.db);
    const asked = Array.from({ length: 20 }, () => reads.nextId(tags));
    const chosen = await Promise.all(asked);
    const last = ids.at(-1) ?? 0;
    expect(chosen.map(({ id }) => id)).toEqual(chosen.map((_, index) => last + 1 + index));
    expect(new Set(chosen.map(({ now }) => now.getTime())).size).toBe(1);
    expect(statements).toEqual(['select nextval']);
    const [next] = await Promise.all([reads.nextId(deviceGroups), reads.nextId(tags)]);
    expect(next.id).toBe(1);
  });
});
