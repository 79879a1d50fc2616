import { createEmptyDatabase, type TestDatabase } from '../helpers/database.js';
import { dumpSchema } from '../helpers/schema.js';
import { removeTemporaryDirectories } from '../helpers/temporary-directory.js';
import { type FilledServer, startFilledServer } from '../pki/master-key/filled-server.js';
import { backUp, restore, verify } from './backup-files.js';
import { sequenceValues, tableDigests } from './table-digests.js';

let filled: FilledServer;
let target: TestDatabase;

beforeAll(async () => {
  filled = await startFilledServer();
  await filled.app.halt();
  target = await createEmptyDatabase();
});
afterAll(async () => {
  await target?.drop();
  await filled?.app.database.drop();
  removeTemporaryDirectories();
});

describe('a backup of a filled database', () => {
  it('is restored equal row by row, with the same schema and the same next ids', async () => {
    const source = filled.app.db;
    const file = await backUp(source);
    const { rows, tables } = await restore(target.db, file);
    const digests = await tableDigests(source);
    expect(await tableDigests(target.db)).toEqual(digests);
    expect(tables).toBe(Object.keys(digests).length);
    expect(rows).toBeGreaterThan(70);
    expect(await dumpSchema(target.db)).toBe(await dumpSchema(source));
    const values = await sequenceValues(target.db);
    expect(values).toEqual(await sequenceValues(source));
    const { manifest } = await verify(file);
    expect(manifest.tables.map(({ name }) => name)).toEqual(Object.keys(digests));
  });
});
