import { ProfileAssignments } from '../../../src/dep/assignments/profile-assignments.js';
import { Reconciliation } from '../../../src/dep/assignments/reconciliation.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';
import { DepRows, FakeDepService, FakeJobs } from './fake-dep-service.js';

export const U1 = '11111111-aaaa-4aaa-8aaa-111111111111';
export const U2 = '22222222-aaaa-4aaa-8aaa-222222222222';
export const MINUTE = 60_000;

/** The columns of a row once Apple has accepted it; with the uuid. */
export const DONE = {
  status: 'assigned',
  stage: 'assigned',
  result: 'SUCCESS',
  attempts: 0,
  error: null,
  due: null,
};

const never = new AbortController().signal;

/** One account with one profile, defined at Apple as U1, and who acts for it. */
export class AssignmentFixture {
  apple = new FakeDepService();
  jobs = new FakeJobs();
  log = capturingLogger();
  account = 0;
  profile = 0;
  /** Profiles that are to be defined anew. */
  stale: number[] = [];

  private constructor(
    private readonly database: TestDatabase,
    readonly rows: DepRows,
  ) {}

  static async create(): Promise<AssignmentFixture> {
    const database = await createTestDatabase();
    return new AssignmentFixture(database, new DepRows(database.db));
  }

  get knex() {
    return this.database.db.knex;
  }

  async reset(): Promise<void> {
    await this.rows.clear();
    [this.apple, this.jobs, this.log] = [new FakeDepService(), new FakeJobs(), capturingLogger()];
    this.stale = [];
    this.account = await this.rows.account();
    this.profile = await this.rows.profile(this.account, { uuid: U1 });
  }

  stop(): Promise<void> {
    return this.database.drop();
  }

  send(): Promise<void> {
    const { apple: accounts, jobs } = this;
    const { logger } = this.log;
    const assignments = new ProfileAssignments({ db: this.database.db, logger, accounts, jobs });
    return assignments.sendDue(this.account, never);
  }

  reconcile() {
    const { jobs } = this;
    const { logger } = this.log;
    const profiles = { redefineStale: async () => this.stale };
    const reconciliation = new Reconciliation({ db: this.database.db, logger, jobs, profiles });
    return reconciliation.reconcile(this.account, never);
  }

  /** Listed by Apple, in the order of their ids. */
  async devices(serials: string[], columns?: object): Promise<number[]> {
    const ids: number[] = [];
    for (const serial of serials) ids.push(await this.rows.device(this.account, serial, columns));
    return ids;
  }

  /** What stands in the row; a pause as minutes from now. */
  async stateOf(serial: string) {
    const row = await this.rows.one(serial);
    const due = row.assignment_due_at as Date | null;
    return {
      uuid: row.profile_uuid,
      status: row.profile_status,
      stage: row.stage,
      result: row.assignment_result,
      attempts: row.assignment_attempts,
      error: row.last_error,
      due: due && Math.round((due.getTime() - Date.now()) / MINUTE) + 0,
    };
  }
}
