import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import {
  connectDatabase,
  type Database,
  type DatabaseOptions,
} from '../../src/db/connection/database.js';
import { TYPESCRIPT } from './process.js';

export interface TestDatabase {
  db: Database;
  connectionString: string;
  drop(): Promise<void>;
}

/** `MUSTER_TEST_SERVER_URL` names another PostgreSQL to test against (a superuser's URL). */
async function templateUrl(): Promise<URL> {
  const run = process.env.MUSTER_TEST_RUN;
  if (run === undefined) throw new Error('no folder of this run: run tests through jest');
  startServerOnce(run);
  for (;;) {
    if (existsSync(join(run, 'url'))) return new URL(readFileSync(join(run, 'url'), 'utf8'));
    if (existsSync(join(run, 'failed'))) throw new Error(readFileSync(join(run, 'failed'), 'utf8'));
    await sleep(20);
  }
}

/** The first test file that needs a database starts the server for all. */
function startServerOnce(run: string): void {
  try {
    mkdirSync(join(run, 'started'));
  } catch {
    return;
  }
  const file = join(__dirname, 'test-server-child.ts');
  spawn(process.execPath, ['--require', TYPESCRIPT, file, run], {
    detached: true,
    stdio: 'ignore',
  }).unref();
}

async function inDatabase(name: string): Promise<string> {
  const url = await templateUrl();
  url.pathname = `/${name}`;
  return url.href;
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: await inDatabase('postgres') });
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
  const connectionString = await inDatabase(name);
  const db = connectDatabase({ ...options, connectionString, poolSize: 5 });
  const drop = async () => {
    await db.close();
    await administer(`drop database ${name} with (force)`);
  };
  return { db, connectionString, drop };
}

/** A database of its own with the schema in it: one per test file, dropped in `afterAll`. */
export async function createTestDatabase(options?: Options): Promise<TestDatabase> {
  return createFrom((await templateUrl()).pathname.slice(1), options);
}

/** A database of its own with nothing in it, for tests of migrations. `encoding`: its options in SQL. */
export function createEmptyDatabase(encoding = ''): Promise<TestDatabase> {
  return createFrom(`template0 ${encoding}`);
}
