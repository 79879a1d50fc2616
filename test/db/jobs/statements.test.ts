import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import {
  deleteJob,
  freeJobs,
  insertJobs,
  isSupersededJob,
  releaseJobs,
  rescheduleJob,
} from '../../../src/db/jobs/job-repository.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { statementsOf } from '../../helpers/statements.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

// Built from parts: the snapshot shows each as PostgreSQL receives it.
describe('the expanded statements of db/jobs', () => {
  it('that queue, change and free jobs are those in the snapshot', async () => {
    const { db } = database;
    const statements = await statementsOf(db, async () => {
      await inTransaction(db, async (trx) => {
        await insertJobs(trx, [{ task: 'push.find_unpushed', payload: {} }]);
        await rescheduleJob(trx, 1);
        await deleteJob(trx, 1);
        await freeJobs(trx, ['pool']);
      });
      await releaseJobs(db, { pool: 'pool' });
      await isSupersededJob(db, 1);
    });
    expect(statements).toMatchSnapshot();
  });
});
