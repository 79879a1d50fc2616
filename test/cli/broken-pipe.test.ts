import { killChildren, startMuster } from '../helpers/child-process.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterEach(killChildren);
afterAll(async () => {
  removeTemporaryDirectories();
  await test.drop();
});

/** With standard output at a pipe that nobody reads. */
async function unread(...args: string[]): Promise<{ code: unknown; errors: string }> {
  const cwd = temporaryDirectory();
  const env = { DATABASE_URL: test.connectionString, DATA_DIR: cwd };
  const child = startMuster(args, { env, cwd });
  child.process.stdout?.destroy();
  const code = await child.ended;
  return { code, errors: child.errors() };
}

describe('a command whose reader has gone', () => {
  it('finishes its work and ends quietly', async () => {
    expect(await unread('migrate', '--status')).toEqual({ code: 0, errors: '' });
    const made = ['token', 'create', '--name', 'unread', '--role', 'viewer'];
    expect(await unread(...made)).toEqual({ code: 0, errors: '' });
    expect(await test.db.knex('tokens').pluck('name')).toEqual(['unread']);
  });
});
