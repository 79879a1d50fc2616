import type { Knex } from 'knex';
import type { DepAccounts, DepApi } from '../../../src/dep/client/dep-api.js';
import { DepJobs } from '../../../src/dep/dep-jobs.js';
import { ProfileDefinitions } from '../../../src/dep/profiles/profile-definitions.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger, type LogLine } from '../../http/log-lines.js';
import { ENROLLMENT_URL } from './profile-samples.js';

/** The UUID that Apple assigns to its first definition, and so on. */
export const uuidOf = (number: number) => `00000000-0000-4000-8000-00000000000${number}`;

function newUuids(): () => Promise<string> {
  let count = 0;
  return () => {
    count += 1;
    return Promise.resolve(uuidOf(count));
  };
}

/** Profiles of one account, and an Apple that says what a test wants. */
export class DefinitionFixture {
  accountId = 0;
  anchors: Buffer[] = [];
  /** What Apple has been sent, in that order. */
  sent: Record<string, unknown>[] = [];
  /** What Apple says to the next definition. */
  answer = newUuids();
  readonly lines: LogLine[];
  readonly #logger;

  private constructor(readonly database: TestDatabase) {
    const { logger, lines } = capturingLogger();
    this.lines = lines;
    this.#logger = logger;
  }

  static async open(): Promise<DefinitionFixture> {
    return new DefinitionFixture(await createTestDatabase());
  }

  get knex(): Knex {
    return this.database.db.knex;
  }

  async reset(): Promise<void> {
    await this.knex.raw('truncate dep_accounts, devices restart identity cascade');
    await this.forgetJobs();
    const [row] = await this.knex('dep_accounts').insert({ server_name: 'A' }).returning('id');
    this.accountId = row.id;
    this.anchors = [Buffer.from('an anchor')];
    this.sent = [];
    this.answer = newUuids();
    this.lines.length = 0;
  }

  definitions(enrollmentUrl = ENROLLMENT_URL): ProfileDefinitions {
    return new ProfileDefinitions({
      db: this.database.db,
      logger: this.#logger,
      accounts: this.#accounts,
      enrollmentUrl,
      jobs: new DepJobs(createJobQueue()),
      anchorCertificates: () => Promise.resolve(this.anchors),
    });
  }

  readonly #accounts: DepAccounts = {
    use: (id, work) => {
      const api: Pick<DepApi, 'defineProfile'> = {
        defineProfile: (definition) => {
          this.sent.push({ ...definition });
          return this.answer();
        },
      };
      return work(api as DepApi, { id, consumerKey: 'CK' });
    },
  };

  /** A new one's id. */
  async profile(columns: object = {}): Promise<number> {
    const stored = { url: ENROLLMENT_URL, follows_public_url: true, status: 'pending' };
    const [row] = await this.knex('dep_profiles')
      .insert({ profile_name: 'Office', dep_account_id: this.accountId, ...stored, ...columns })
      .returning('id');
    return row.id;
  }

  row(id: number) {
    return this.knex('dep_profiles').where({ id }).first();
  }

  change(id: number, columns: object) {
    return this.knex('dep_profiles').where({ id }).update(columns);
  }

  history(): Promise<string[]> {
    return this.knex('dep_profile_definitions').orderBy('uuid').pluck('uuid');
  }

  /** Keys of the jobs that wait, and for how many minutes. */
  async jobs(): Promise<[key: string, minutes: number][]> {
    const minutes = this.knex.raw(
      'round(extract(epoch from run_at - now()) / 60)::integer as minutes',
    );
    const rows = await this.knex('jobs').orderBy('key').select('key', minutes);
    return rows.map((row) => [row.key, row.minutes]);
  }

  async forgetJobs(): Promise<void> {
    await this.knex.raw('delete from graphile_worker._private_jobs');
  }
}
