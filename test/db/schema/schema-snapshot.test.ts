import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrate, rollback } from '../../../src/db/schema/migrate.js';
import { createLogger } from '../../../src/logger.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { dumpSchema } from '../../helpers/schema.js';

/** After a new migration: UPDATE_SCHEMA=1 npx jest test/db/schema/schema-snapshot, and read the diff. */
const SNAPSHOT = join(__dirname, 'schema.snapshot.txt');

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

describe('the schema that the migrations make', () => {
  it('is the one in the snapshot', async () => {
    const schema = await dumpSchema(test.db);
    if (process.env.UPDATE_SCHEMA === '1') writeFileSync(SNAPSHOT, schema);
    expect(schema).toBe(readFileSync(SNAPSHOT, 'utf8'));
  });

  it('is the same after the migrations were reverted and applied again', async () => {
    const before = await dumpSchema(test.db);
    const logger = createLogger('silent');
    await rollback(test.db, { logger, all: true });
    expect((await dumpSchema(test.db)).trim()).toBe('');
    await migrate(test.db, { logger });
    expect(await dumpSchema(test.db)).toBe(before);
  });
});
