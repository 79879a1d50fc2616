import type pg from 'pg';
import { connectDatabase, type Database } from '../../../src/db/connection/database.js';
import { ChangeFeed, type ChangeFeedDeps } from '../../../src/db/processes/change-feed.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger, type LogLine } from '../../http/log-lines.js';

/** Too long to have an effect in a test. */
export const NEVER_MS = 600_000;

export interface FeedUnderTest {
  feed: ChangeFeed;
  lines: LogLine[];
  /** Its listening connections, the newest last. */
  clients: pg.Client[];
}

/** One database for the tests of a file, as seen by two processes. */
export interface FeedFixture {
  readonly test: TestDatabase;
  readonly other: Database;
  /** Polls and reconnects almost never by default. */
  feedOf(options?: Partial<ChangeFeedDeps>): FeedUnderTest;
  blockTopic(): Promise<void>;
  isAlive(pid: number): Promise<boolean>;
  kill(client: pg.Client | undefined): Promise<void>;
  stopFeeds(): Promise<void>;
  close(): Promise<void>;
}

export async function createFeedFixture(): Promise<FeedFixture> {
  const test = await createTestDatabase();
  const other = connectDatabase({ connectionString: test.connectionString });
  let feeds: ChangeFeed[] = [];

  function feedOf(options: Partial<ChangeFeedDeps> = {}): FeedUnderTest {
    const { logger, lines } = capturingLogger();
    const { db = test.db } = options;
    const { background, namedStatements } = db;
    const clients: pg.Client[] = [];
    const createClient = () => {
      const client = db.createClient();
      clients.push(client);
      return client;
    };
    const feed = new ChangeFeed({
      logger,
      pollMs: NEVER_MS,
      reconnectMs: 10,
      ...options,
      db: { background, namedStatements, createClient },
    });
    feeds.push(feed);
    return { feed, lines, clients };
  }

  async function blockTopic(): Promise<void> {
    const topic = crypto.randomUUID();
    await other.knex('push_topics').insert({ topic, blocked_reason: 'x', retry_at: new Date() });
  }

  async function isAlive(pid: number): Promise<boolean> {
    return (await other.knex('pg_stat_activity').where({ pid }).first('pid')) !== undefined;
  }

  async function kill(client: pg.Client | undefined): Promise<void> {
    const pid = pidOf(client);
    await other.knex.raw('select pg_terminate_backend(?)', [pid]);
    await until(async () => !(await isAlive(pid)));
  }

  async function stopFeeds(): Promise<void> {
    await Promise.all(feeds.map((feed) => feed.stop()));
    feeds = [];
  }

  async function close(): Promise<void> {
    await other.close();
    await test.drop();
  }

  return { test, other, feedOf, blockTopic, isAlive, kill, stopFeeds, close };
}

export function pidOf(client: pg.Client | undefined): number {
  const pid: unknown = client && Reflect.get(client, 'processID');
  if (typeof pid !== 'number') throw new Error('the client is not connected');
  return pid;
}

export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('it never came to pass');
}

/** Counts the runs of a listener, and waits for them. */
export function counter() {
  let runs = 0;
  let waiting: (() => void)[] = [];
  return {
    count: () => runs,
    listener: () => {
      runs += 1;
      const woken = waiting;
      waiting = [];
      for (const resolve of woken) resolve();
    },
    reaches: async (wanted: number) => {
      while (runs < wanted) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}
