import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { LEFT_OUT } from '../../../src/db/backup/backup-tables.js';
import { migrate, migrationStatus } from '../../../src/db/schema/migrate.js';
import { MEASURED_ON, planMigrations } from '../../../src/db/schema/migration-plan.js';
import {
  DirectoryMigrationSource,
  MIGRATIONS_DIRECTORY,
} from '../../../src/db/schema/migration-source.js';
import { createLogger } from '../../../src/logger.js';
import { restore } from '../../backup/backup-files.js';
import { adminApi, startApp } from '../../helpers/app.js';
import { createEmptyDatabase, type TestDatabase } from '../../helpers/database.js';
import { ROOT } from '../../helpers/process.js';
import { dumpSchema } from '../../helpers/schema.js';
import { removeTemporaryDirectories } from '../../helpers/temporary-directory.js';
import { directoryWith, migration } from './migration-directory.js';

const DUMP = readFileSync(join(ROOT, 'test/fixtures/former-release/database.sql'), 'utf8');
/** The same database, in a backup that this release wrote. */
const BACKUP = join(ROOT, 'test/fixtures/former-release/database.backup');
const OURS = new DirectoryMigrationSource(MIGRATIONS_DIRECTORY).names();
/** Columns whose values migrations since then change, as `table.column`. */
const CHANGED: string[] = [];

const logger = createLogger('silent');
let test: TestDatabase;

beforeEach(async () => {
  test = await createEmptyDatabase();
  const client = new pg.Client({ connectionString: test.connectionString });
  await client.connect();
  await client.query(DUMP);
  await client.end();
});
afterEach(() => test.drop());
afterAll(removeTemporaryDirectories);

interface Column {
  table: string;
  column: string;
  type: string;
  isRequired: boolean;
}

async function columns(): Promise<Column[]> {
  const { rows } = await test.db.pool.query<Column>(
    `select c.relname as "table", a.attname as "column", format_type(a.atttypid, a.atttypmod) as type,
       a.attnotnull and not a.atthasdef and a.attidentity = '' as "isRequired"
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname not like 'knex_%'
     order by 1, 2`,
  );
  return rows;
}

/** Every row as text, by table, with these columns and no others. */
async function rowsOf(wanted: Column[], { db } = test): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const table of new Set(wanted.map((one) => one.table))) {
    const names = wanted
      .filter((one) => one.table === table && !CHANGED.includes(`${table}.${one.column}`))
      .map(({ column }) => `"${column}"`);
    const { rows } = await db.pool.query<{ row: string }>(
      `select row_to_json(r)::text as row from (select ${names.join(', ')} from "${table}") r order by 1`,
    );
    found[table] = rows.map(({ row }) => row);
  }
  return found;
}

/** A dump nests conditions of triggers in another way than their migration. */
const linesOf = (schema: string) => schema.replace(/[()]/g, '').split('\n').sort();
const schemaLines = async () => linesOf(await dumpSchema(test.db));
const WANTED = linesOf(readFileSync(join(__dirname, 'schema.snapshot.txt'), 'utf8'));

/** The migrations of the product and one that fails. */
function withFailing(name: string): string {
  const ours = OURS.map((one) => [
    `${one}.js`,
    `module.exports = require(${JSON.stringify(join(MIGRATIONS_DIRECTORY, one))});`,
  ]);
  const bad = migration('create table half_way (n integer); select 1 / 0');
  return directoryWith({ ...Object.fromEntries(ours), [`${name}.js`]: bad });
}

/** What migrations since then have added to tables of the former release, by design. */
const ADDED: Record<string, string[]> = { change_topics: ['{"topic":"sessions","version":0}'] };

function withAdded(before: Record<string, string[]>): Record<string, string[]> {
  const added = Object.entries(ADDED).map(([table, rows]) => {
    return [table, [...(before[table] ?? []), ...rows].sort()] as const;
  });
  return { ...before, ...Object.fromEntries(added) };
}

describe('the database of the former release', () => {
  it('is restored from its backup, in whose format rows are text, and every row is there', async () => {
    const former = (await columns()).filter(({ table }) => !LEFT_OUT.includes(table));
    const before = await rowsOf(former);
    const target = await createEmptyDatabase();
    try {
      await restore(target.db, BACKUP);
      expect((await migrationStatus(target.db)).applied).toEqual(OURS);
      expect(linesOf(await dumpSchema(target.db))).toEqual(WANTED);
      expect(await rowsOf(former, target)).toEqual(withAdded(before));
    } finally {
      await target.drop();
    }
  });

  it('is brought to the schema of this one, and every row stays as it was', async () => {
    const former = await columns();
    const before = await rowsOf(former);
    expect(before.devices).toHaveLength(8);
    expect(before.commands).toHaveLength(32);
    const { applied, pending } = await migrationStatus(test.db);
    expect(pending.length).toBeGreaterThan(0);
    expect(await migrate(test.db, { logger })).toEqual(OURS.slice(applied.length));
    expect(await schemaLines()).toEqual(WANTED);
    expect(await rowsOf(former)).toEqual(withAdded(before));
  });

  it('was used to time every migration since: BENCH_RECORD=on npm run bench:upgrade', async () => {
    const migrations = (await planMigrations(test.db)).flatMap((step) => step.migrations);
    const untimed = migrations.filter(({ measuredMs }) => measuredMs === undefined);
    expect(untimed.map(({ name }) => name)).toEqual([]);
  });

  it('kept no write of a device waiting for more than a second, with a million devices', async () => {
    expect(MEASURED_ON.devices).toBeGreaterThanOrEqual(1_000_000);
    const migrations = (await planMigrations(test.db)).flatMap((step) => step.migrations);
    const slow = migrations.filter(({ slowestWriteMs = Infinity }) => slowestWriteMs > 1_000);
    expect(slow.map(({ name }) => name)).toEqual([]);
  });

  it('keeps what processes of the former release read and write during the upgrade', async () => {
    const former = await columns();
    await migrate(test.db, { logger });
    const now = await columns();
    const keyOf = ({ table, column, type }: Column) => `${table}.${column} ${type}`;
    const kept = new Set(now.map(keyOf));
    expect(former.map(keyOf).filter((one) => !kept.has(one))).toEqual([]);
    const tables = new Set(former.map(({ table }) => table));
    const known = new Set(former.map(keyOf));
    const required = now.filter((one) => one.isRequired && tables.has(one.table));
    expect(required.map(keyOf).filter((one) => !known.has(one))).toEqual([]);
  });

  it('is unchanged when a migration fails, and is served without it', async () => {
    const former = await columns();
    const [before, schema] = [await rowsOf(former), await dumpSchema(test.db)];
    const { applied } = await migrationStatus(test.db);
    const name = `${String(applied.at(-1)).slice(0, 14)}_zz_fails`;
    const failing = migrate(test.db, { logger, directory: withFailing(name) });
    await expect(failing).rejects.toThrow('division by zero');
    expect(await dumpSchema(test.db)).toBe(schema);
    expect(await rowsOf(former)).toEqual(before);
    expect((await migrationStatus(test.db)).applied).toEqual(applied);
    await migrate(test.db, { logger });
    expect(await schemaLines()).toEqual(WANTED);
  });

  it('is left after the last whole step when the last migration fails', async () => {
    const directory = withFailing('20990101000000_fails');
    const failing = migrate(test.db, { logger, directory });
    await expect(failing).rejects.toThrow('division by zero');
    expect(await dumpSchema(test.db)).not.toContain('half_way');
    const [left, ...others] = await planMigrations(test.db, directory);
    expect(others).toEqual([]);
    expect(left?.migrations.at(-1)?.name).toBe('20990101000000_fails');
    await migrate(test.db, { logger });
    expect(await schemaLines()).toEqual(WANTED);
  });

  it('is served afterwards: devices, secrets, commands', async () => {
    await migrate(test.db, { logger });
    const app = await startApp({ database: test });
    try {
      expect((await fetch(`${app.url}/readyz`)).status).toBe(200);
      const api = adminApi(app);
      const devices = await api.get('/devices?sort=id&fields[devices]=serial_number,asset_tag');
      expect(devices.body.meta.total).toBe(8);
      expect(devices.body.data[0].attributes).toEqual({
        serial_number: 'W7J3V5JN5Y',
        asset_tag: 'A-1',
      });
      expect((await api.post('/devices/4/clear_passcode')).status).toBe(201);
      const queued = await api.get('/devices/4/commands?sort=-id&page[size]=1');
      expect(queued.body.data[0].attributes.request_type).toBe('ClearPasscode');
    } finally {
      await app.halt();
    }
  });
});
