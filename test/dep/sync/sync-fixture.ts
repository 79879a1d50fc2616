import type { Knex } from 'knex';
import type {
  DepAccounts,
  DepApi,
  DevicePage,
  ListedDevice,
} from '../../../src/dep/client/dep-api.js';
import { DepJobs } from '../../../src/dep/dep-jobs.js';
import { AccountSync, type AccountSyncDeps } from '../../../src/dep/sync/account-sync.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import { unlessAborted } from '../../../src/jobs/job-runner.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';
import { type JobRow, jobRows } from '../../jobs/helpers.js';

const TABLES = ['dep_devices', 'devices', 'dep_profiles', 'dep_accounts'];

export const KEY = 'CK_0123456789';
export const ASSIGNED = new Date('2026-03-01T08:00:00Z');

/** One question to Apple: fetch (all devices) or sync (what has changed). */
export interface Question {
  call: 'fetch' | 'sync';
  cursor: string | null;
  limit: number;
}

type Answer = (question: Question) => DevicePage | Promise<DevicePage>;

/** An account in a database of its own, and an Apple that answers as the test says. */
export interface SyncFixture {
  database: TestDatabase;
  knex: Knex;
  log: ReturnType<typeof capturingLogger>;
  questions: Question[];
  /** Before the token is read for the question of this number, from 0. */
  onUse(question: number): Promise<void>;
  /** As `fetch null`, `sync c1`. */
  asked(): string[];
  /** What Apple answers from now on. */
  answer(how: Answer): void;
  /** One answer for each question, in this order; a function may throw. */
  answers(...pages: (DevicePage | (() => DevicePage | Promise<DevicePage>))[]): void;
  sync(accountId?: number, options?: SyncOptions): Promise<void>;
  /** With a token; its id is 1 after `reset`. */
  addAccount(columns?: object): Promise<number>;
  account(id?: number): Promise<Record<string, unknown>>;
  jobs(): Promise<JobRow[]>;
  reset(): Promise<void>;
}

export interface SyncOptions extends Partial<Pick<AccountSyncDeps, 'syncInterval'>> {
  signal?: AbortSignal;
  renewInterval?: number;
  attempt?: number;
}

/** A listing as Apple's service returns it for a Mac that has no profile yet. */
export function listing(serialNumber: string, members: Partial<ListedDevice> = {}): ListedDevice {
  return {
    serialNumber,
    model: 'MacBook Pro 14"',
    description: 'MBP 14 SLV',
    color: 'SILVER',
    assetTag: null,
    os: 'OSX',
    deviceFamily: 'Mac',
    deviceAssignedBy: 'abm@example.com',
    deviceAssignedDate: ASSIGNED,
    profileUuid: null,
    profileStatus: 'empty',
    profileAssignTime: null,
    profilePushTime: null,
    opType: null,
    opDate: null,
    ...members,
  };
}

export function page(devices: ListedDevice[], members: Partial<DevicePage> = {}): DevicePage {
  const end = { cursor: 'c1', moreToFollow: false, fetchedUntil: null };
  return { devices, skipped: 0, ...end, ...members };
}

export async function startSyncFixture(): Promise<SyncFixture> {
  const database = await createTestDatabase();
  const { db } = database;
  const { knex } = db;
  const log = capturingLogger();
  const jobs = new DepJobs(createJobQueue());
  const questions: Question[] = [];
  let how: Answer = () => page([]);
  const ask = (question: Question) => {
    questions.push(question);
    return how(question);
  };
  const api = {
    fetchDevices: async (request: object) => ask({ call: 'fetch', ...request } as Question),
    syncDevices: async (request: object) => ask({ call: 'sync', ...request } as Question),
  } as DepApi;
  const accounts: DepAccounts = {
    use: async (id, work, { signal } = {}) => {
      await fixture.onUse(questions.length);
      const { consumer_key: consumerKey } = await knex('dep_accounts').where({ id }).first();
      const answer = work(api, { id, consumerKey });
      if (signal === undefined) return await answer;
      const first = await unlessAborted(answer, signal);
      if (first === undefined) throw signal.reason;
      return first;
    },
  };
  const fixture: SyncFixture = {
    database,
    knex,
    log,
    questions,
    onUse: () => Promise.resolve(),
    asked: () => questions.map(({ call, cursor }) => `${call} ${cursor}`),
    answer: (next) => {
      how = next;
    },
    answers: (...pages) => {
      const left = [...pages];
      how = () => {
        const next = left.shift() ?? page([]);
        return typeof next === 'function' ? next() : next;
      };
    },
    sync: (accountId = 1, { signal, attempt, ...options } = {}) => {
      const deps = { db, logger: log.logger, jobs, accounts, syncInterval: 900_000, ...options };
      return new AccountSync(deps).sync(
        { accountId, attempt },
        signal ?? new AbortController().signal,
      );
    },
    addAccount: async (columns = {}) => {
      const secrets = { sealed_consumer_secret: Buffer.of(1), sealed_access_secret: Buffer.of(2) };
      const token = { consumer_key: KEY, access_token: 'AT_1', ...secrets };
      const [row] = await knex('dep_accounts')
        .insert({ ...token, ...columns })
        .returning<{ id: number }[]>('id');
      return row?.id ?? 0;
    },
    account: (id = 1) => knex('dep_accounts').where({ id }).first(),
    jobs: () => jobRows(db),
    reset: async () => {
      questions.length = 0;
      log.lines.length = 0;
      how = () => page([]);
      fixture.onUse = () => Promise.resolve();
      for (const table of TABLES) await knex(table).delete();
      await knex.raw('alter table dep_accounts alter id restart with 1');
      await knex.raw('delete from graphile_worker._private_jobs');
      await fixture.addAccount();
    },
  };
  return fixture;
}
