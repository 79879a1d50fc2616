import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { killChildren, startMuster } from '../helpers/child-process.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';

let empty: TestDatabase;
beforeAll(async () => {
  empty = await createEmptyDatabase();
});
afterEach(killChildren);
afterAll(async () => {
  removeTemporaryDirectories();
  await empty?.drop();
});

async function ran(args: string[], env: Record<string, string>) {
  const cwd = temporaryDirectory();
  const child = startMuster(args, { env, cwd });
  const code = await child.ended;
  return { code, errors: child.errors(), made: readdirSync(cwd) };
}

const COMMANDS = [
  ['backup', 'made.backup'],
  ['keys', 'status'],
  ['token', 'list'],
  ['ca', 'list'],
  ['link', 'console'],
  ['push-cert', 'status'],
  ['migrate', '--plan'],
];

describe('a command for the database of a server that never ran', () => {
  it.each(COMMANDS)('makes none in DATA_DIR: %s %s', async (name, argument) => {
    const dataDir = join(temporaryDirectory(), 'mistyped');
    expect(await ran([name, argument] as string[], { DATA_DIR: dataDir })).toEqual({
      code: 1,
      errors:
        `muster: There is no database in DATA_DIR (${dataDir}), and DATABASE_URL is not set. Run muster ${name} with ` +
        'the settings of the server: in its directory, where its .env is. Or start it: muster serve\n',
      made: [],
    });
    expect(existsSync(dataDir)).toBe(false);
  });

  it.each(COMMANDS.slice(0, -1))('makes nothing in DATABASE_URL: %s %s', async (name, argument) => {
    const env = { DATABASE_URL: empty.connectionString, DATA_DIR: temporaryDirectory() };
    expect(await ran([name, argument] as string[], env)).toEqual({
      code: 1,
      errors:
        'muster: The database that DATABASE_URL names has no tables of Muster. Set the one of the server, or start it: ' +
        'muster serve\n',
      made: [],
    });
    const { rows } = await empty.db.pool.query(
      "select from pg_class where relnamespace = 'public'::regnamespace",
    );
    expect(rows).toEqual([]);
  });

  it('changes no schema that is older or newer than it', async () => {
    const other = await createTestDatabase();
    try {
      const env = { DATABASE_URL: other.connectionString, DATA_DIR: temporaryDirectory() };
      await other.db.knex('knex_migrations').insert({ name: '20990101000000_newer', batch: 9 });
      const newer = await ran(['token', 'list'], env);
      expect([newer.code, newer.errors]).toEqual([
        1,
        'muster: the database is newer than this Muster: use the version that its server has\n',
      ]);
      await other.db.knex.raw(
        'delete from knex_migrations where id > (select max(id) - 2 from knex_migrations)',
      );
      const older = await ran(['keys', 'status'], env);
      expect([older.code, older.errors]).toEqual([
        1,
        'muster: the schema of the database is older than this Muster: run `muster migrate` first\n',
      ]);
    } finally {
      await other.drop();
    }
  });

  it('ends with 2 for an unknown option, which is no warning of the doctor', async () => {
    const { code, errors } = await ran(['doctor', '--nope'], {});
    expect([code, errors]).toEqual([2, "error: unknown option '--nope'\n"]);
  });

  it('takes one of --status, --plan and --rollback', async () => {
    const { code, errors } = await ran(['migrate', '--plan', '--rollback'], {});
    expect([code, errors]).toEqual([2, 'muster: use one of --status, --plan and --rollback\n']);
  });
});
