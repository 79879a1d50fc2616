import { AppError } from '../../src/errors.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { removeTemporaryDirectories } from '../helpers/temporary-directory.js';
import { backUp, restore } from './backup-files.js';
import { tableDigests } from './table-digests.js';

let source: TestDatabase;
let target: TestDatabase;

beforeAll(async () => {
  source = await createTestDatabase();
  target = await createEmptyDatabase();
  await source.db.pool.query("insert into tags (name) values ('kept')");
});
afterAll(async () => {
  await source.drop();
  await target.drop();
  removeTemporaryDirectories();
});

describe('a restore that fails at its end', () => {
  it('leaves no table of a server behind, and can be repeated', async () => {
    const file = await backUp(source.db);
    const onLoaded = () => Promise.reject(new AppError('unavailable', 503, 'the disk is full'));
    await expect(restore(target.db, file, { onLoaded })).rejects.toThrow('the disk is full');
    const { rows } = await target.db.pool.query(
      "select from pg_class where oid in (to_regclass('tags'), to_regclass('server_processes'))",
    );
    expect(rows).toEqual([]);
    await restore(target.db, file);
    expect(await tableDigests(target.db)).toEqual(await tableDigests(source.db));
  });
});
