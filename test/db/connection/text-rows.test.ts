import pg from 'pg';
import { connectDatabase, type Database } from '../../../src/db/connection/database.js';
import { formatTimestamp } from '../../../src/jsonapi/definition/values.js';
import { columnTextsOf } from '../../../src/jsonapi/documents/column-texts.js';
import { Utf8Writer } from '../../../src/jsonapi/documents/utf8-writer.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

const VALUES = [
  `null::text`,
  `''`,
  `'a "quoted" \\ \n\t\u0001\u001f\u007f\u2028 ä 😀 </script>'`,
  `'a'::varchar`,
  `'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid`,
  `(-32768)::smallint`,
  `0`,
  `-2147483648`,
  `9007199254740991::bigint`,
  `-9007199254740993::bigint`,
  `0.1::double precision`,
  `1e21::double precision`,
  `1e-7::double precision`,
  `'-0'::double precision`,
  `'NaN'::double precision`,
  `'Infinity'::double precision`,
  `1.5::real`,
  `1.50::numeric`,
  `true`,
  `false`,
  `'{"b": 1, "a": [1.0, null, "ä"]}'::jsonb`,
  `'null'::jsonb`,
  `'[1,  2]'::json`,
  `array[1,2]::bigint[]`,
  `array['a',null]::text[]`,
  `'\\x0102'::bytea`,
  `'2026-03-26'::date`,
  `'192.0.2.1'::inet`,
  ...[
    '2026-03-26 23:42:09+00',
    '2026-03-26 23:42:09.5+00',
    '2026-03-26 23:42:09.057+00',
    '2026-03-26 23:42:09.0001+00',
    '2026-03-26 23:42:09.999999+00',
    '1969-12-31 23:59:59.123456+00',
    '0099-01-01 00:00:00.29+00',
    '0001-01-01 00:00:00+00',
    '9999-12-31 23:59:59.999+00',
    '12026-01-01 00:00:00+00',
    '0044-03-15 12:00:00+00 BC',
    'infinity',
    '-infinity',
  ].map((time) => `'${time}'::timestamptz`),
];

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

function columns(): string {
  return VALUES.map((value, index) => `${value} as c${index}`).join(', ');
}

/** As lists wrote values before they wrote texts. */
function written(value: unknown): string {
  if (value instanceof Date) return `"${formatTimestamp(value)}"`;
  return JSON.stringify(value ?? null);
}

function textOf(write: (out: Utf8Writer) => void): string {
  const chunks: Buffer[] = [];
  const out = new Utf8Writer((chunk) => chunks.push(chunk));
  write(out);
  out.finish();
  return Buffer.concat(chunks).toString();
}

async function inZone(zone: string, work: (db: Database) => Promise<void>): Promise<void> {
  const name = new URL(database.connectionString).pathname.slice(1);
  await database.db.knex.raw(`alter database "${name}" set timezone to '${zone}'`);
  const db = connectDatabase({ connectionString: database.connectionString });
  await work(db).finally(() => db.close());
}

describe.each(['UTC', 'Asia/Kolkata', 'America/St_Johns'])('a row of text in %s', (zone) => {
  it('has the values, and their JSON, that a row of values has', async () => {
    await inZone(zone, async (db) => {
      const sql = { text: `select ${columns()}`, bindings: [] };
      const [row = {}] = await db.lists.for().run<Record<string, unknown>>(sql);
      const { rows } = await db.pool.query(sql.text);
      const values = rows[0] as Record<string, unknown>;
      const texts = columnTextsOf(row);
      VALUES.forEach((sqlOfValue, index) => {
        const name = `c${index}`;
        expect([sqlOfValue, row[name]]).toEqual([sqlOfValue, values[name]]);
        const place = texts?.placeOf(name) as number;
        const raw = texts?.rawOf(row)[place] as string | null;
        const text = raw === null ? 'null' : textOf((out) => texts?.writers[place]?.(raw, out));
        expect([sqlOfValue, text]).toEqual([sqlOfValue, written(values[name])]);
      });
    });
  });
});

describe('a row of text', () => {
  it('holds what is assigned to a column, in that row alone', async () => {
    const sql = { text: 'select 1 as a union all select 2', bindings: [] };
    const [first, second] = await database.db.lists.for().run<{ a: unknown }>(sql);
    if (first === undefined || second === undefined) throw new Error('two rows');
    first.a = 'b';
    expect([first.a, second.a]).toEqual(['b', 2]);
    expect(columnTextsOf(first)?.placeOf('b')).toBeUndefined();
  });

  it('is parsed by the columns of its own statement', async () => {
    const run = (text: string) =>
      database.db.lists.for().run<{ a: unknown }>({ text, bindings: [] });
    expect((await run('select 1 as a'))[0]?.a).toBe(1);
    expect((await run(`select '1' as a`))[0]?.a).toBe('1');
    expect((await run(`select now() as a`))[0]?.a).toBeInstanceOf(Date);
    expect(pg.types.builtins.TIMESTAMPTZ).toBe(1184);
  });
});
