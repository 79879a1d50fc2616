import { randomBytes } from 'node:crypto';
import pg from 'pg';
import {
  connectDatabase,
  type Database,
  type DatabaseOptions,
} from '../../src/db/connection/database.js';

export interface TestDatabase {
  db: Database;
  connectionString: string;
  drop(): Promise<void>;
}

function templateUrl(): URL {
  const url = process.env.MUSTER_TEST_DATABASE_URL;
  if (url === undefined) throw new Error('no test server: run tests through jest');
  return new URL(url);
}

function inDatabase(name: string): string {
  const url = templateUrl();
  url.pathname = `/${name}`;
  return url.href;
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inDatabase('postgres') });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Copying files is many times faster where nothing is synced; servers before version 15 do no other. */
const STRATEGY = process.env.MUSTER_TEST_SERVER_URL === undefined ? 'strategy file_copy' : '';

type Options = Pick<DatabaseOptions, 'listTimeoutMs'>;

async function createFrom(template: string, options: Options = {}): Promise<TestDatabase> {
  const name = `muster_test_${randomBytes(8).toString('hex')}`;
  await administer(`create database ${name} template ${template} ${STRATEGY}`);
  const connectionString = inDatabase(name);
  const db = connectDatabase({ ...options, connectionString, poolSize: 5 });
  const drop = async () => {
    await db.close();
    await administer(`drop database ${name} with (force)`);
  };
  return { db, connectionString, drop };
}

/** A database of its own with the schema in it: one per test file, dropped in `afterAll`. */
export function createTestDatabase(options?: Options): Promise<TestDatabase> {
  return createFrom(templateUrl().pathname.slice(1), options);
}

/** A database of its own with nothing in it, for tests of migrations. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return createFrom('template0');
}
