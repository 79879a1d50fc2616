import { Random } from '../../../src/lab/devices/random.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

async function keysOf(versions: (string | null)[]): Promise<(string | null)[]> {
  const { rows } = await database.db.knex.raw<{ rows: { key: string | null }[] }>(
    'select version_key(v) as key from unnest(?::text[]) with ordinality as t(v, n) order by n',
    [versions as string[]],
  );
  return rows.map(({ key }) => key);
}

async function sorted(versions: string[]): Promise<string[]> {
  const { rows } = await database.db.knex.raw<{ rows: { v: string }[] }>(
    'select v from unnest(?::text[]) as v order by version_key(v) collate "C"',
    [versions],
  );
  return rows.map(({ v }) => v);
}

describe('version_key', () => {
  it.each<[string, string[]]>([
    ['of systems', ['9.3.5', '10.0', '15.7', '15.7.1', '15.7.9', '15.7.10', '15.8', '26.0']],
    [
      'of builds: major number, letter, number, suffix',
      ['9B206', '21A329', '21A5248v', '21B5', '22A380', '22F66', '22F66a', '22F5027f', '22F5028a'],
    ],
    [
      'of applications, what precedes a release first',
      [
        '1.2',
        '1.2.3a1',
        '1.2.3b4 (567)',
        '1.2.3b10',
        '1.2.3fc1',
        '1.2.3-rc.1',
        '1.2.3',
        '1.2.3 (567)',
        '1.2.3 (1234)',
        '1.2.3-5',
        '1.2.3.1',
        '1.2.3f1',
        '1.2.4 Beta',
        '1.2.4',
        '8.2',
        '8.2.1',
        '8.2a',
        '20240101123045',
        '20240101123045678901234567890',
        'garbage',
        'v1.2',
        '©2004',
      ],
    ],
    ['of nothing but zeros and separators', ['', '.', '0', '0.1', '0.10', '1']],
  ])('orders versions %s', async (_what, versions) => {
    expect(await sorted([...versions].reverse())).toEqual(versions);
  });

  it.each([
    ['15', '15.0', '15.0.0', '15.00', '015', ' 15 '],
    ['15.0.1', '15.00.01'],
    ['22f5027F', '22F5027f'],
    ['1.0 (5)', '1 (5)'],
    ['0', '0.0', '00'],
  ])('is equal for %s and other forms of the same version', async (...versions) => {
    expect(new Set(await keysOf(versions)).size).toBe(1);
  });

  it.each([
    ['1.0.2', '1.2'],
    ['15.0', '15.0b'],
    ['1.2-3', '1.2.3'],
    ['22A5', '22A50'],
    ['1.2.3b4', '1.2.3'],
  ])('differs for %s and %s', async (...versions) => {
    expect(new Set(await keysOf(versions)).size).toBe(2);
  });

  it('is the same by the short way for numbers, which a space in front prevents', async () => {
    const random = new Random('version_key');
    const number = () =>
      '0'.repeat(random.integer(0, 2)) + random.pick(['', '0', '1', '10', '26', '405']);
    const some = (length: number, of: () => string) => Array.from({ length }, of);
    const versions = some(2_000, () => some(random.integer(1, 5), number).join('.'));
    const letter = () => random.pick([...'ABDFabdfz', 'fc', '']);
    const builds = some(2_000, () => `${number()}${letter()}${number()}${letter()}`);
    const all = [
      ...versions,
      ...builds,
      `1${'0'.repeat(23)}.2`,
      `1${'0'.repeat(24)}.2`,
      '9'.repeat(50),
    ];
    expect(await keysOf(all)).toEqual(await keysOf(all.map((version) => ` ${version}`)));
    expect(await keysOf(['15.8.2', '017.0', '22F5027f'])).toEqual([
      '215.18.12\u0002',
      '217\u0002',
      '222f45027f\u0002',
    ]);
  });

  it('is null for null, and fits an index whatever a device reports', async () => {
    const long = ['1.'.repeat(5000), '9'.repeat(10_000), '🍏'.repeat(5000), 'a1'.repeat(5000)];
    const [none, ...keys] = await keysOf([null, ...long]);
    expect(none).toBeNull();
    for (const key of keys) expect(Buffer.byteLength(key ?? '')).toBeLessThan(1000);
    const rows = long.map((os_version) => ({ os_version, build_version: os_version }));
    await database.db.knex('devices').insert(rows);
  });

  it('orders in the same way in a database with another locale', async () => {
    const { knex } = database.db;
    const { rows } = await knex.raw<{ rows: { name: string }[] }>(
      `select quote_ident(collname) as name from pg_collation
       where collencoding in (-1, pg_char_to_encoding('UTF8')) and collprovider <> 'd'
       order by collname in ('en-US-x-icu', 'de-x-icu', 'C', 'POSIX', 'und-x-icu') desc limit 6`,
    );
    const versions = ['1.10', '1.9', '22F66', '22f66a', '22F5', '1.2b', '1.2-B', 'Ä1', 'ä1', 'z'];
    const expected = await keysOf(versions);
    for (const { name } of rows) {
      const found = await knex.raw<{ rows: { key: string }[] }>(
        `select version_key(v collate ${name}) as key
         from unnest(?::text[]) with ordinality as t(v, n) order by n`,
        [versions],
      );
      expect([name, found.rows.map(({ key }) => key)]).toEqual([name, expected]);
    }
  });
});
