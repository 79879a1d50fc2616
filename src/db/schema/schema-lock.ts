import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from '../../logger.js';
import type { Database } from '../connection/database.js';

/** "must" in ASCII and a purpose: the advisory lock of migrations. */
const LOCK_KEY = [0x6d_75_73_74, 1];
const LOCK_POLL_MS = 200;

async function acquire(client: pg.PoolClient, logger: Logger): Promise<void> {
  for (let attempt = 0; !(await tryLock(client)); attempt += 1) {
    if (attempt === 0) logger.info('another process is migrating the database, waiting for it');
    await sleep(LOCK_POLL_MS);
  }
  for (const limit of [
    'statement_timeout',
    'lock_timeout',
    'idle_in_transaction_session_timeout',
  ]) {
    await client.query(`set local ${limit} = 0`);
  }
}

/**
 * Leaves the transaction open only if it has the lock. `create index concurrently` of the process that has it waits for
 * every snapshot, and for the end of the transaction that took one: each try is a transaction of its own. A statement
 * with parameters holds its snapshot until the next one: none has any.
 */
async function tryLock(client: pg.PoolClient): Promise<boolean> {
  await client.query('begin');
  const text = `select pg_try_advisory_xact_lock(${LOCK_KEY.join(', ')}) as free`;
  const { rows } = await client.query<{ free: boolean }>(text);
  if (rows[0]?.free === true) return true;
  await client.query('rollback');
  return false;
}

/** Statements of migrations outside of any transaction, which the server finishes without their process. */
const FORMER_BUILDS = `
select count(*)::integer as builds from pg_stat_activity
where datname = current_database() and usename = current_user and state = 'active'
  and query ~ '^(create|drop) index concurrently '`;

/** Waits for what a killed process has left running: an index that is dropped meanwhile would fail this one. */
async function untilFormerBuildsEnd(db: Database, logger: Logger): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const { rows } = await db.background.query<{ builds: number }>(FORMER_BUILDS);
    if (rows[0]?.builds === 0) return;
    if (attempt === 0) {
      logger.info('an index is still being built for a process that has ended, waiting for it');
    }
    await sleep(LOCK_POLL_MS);
  }
}

/**
 * The lock belongs to a transaction on a separate connection: it ends with the process that holds it,
 * and works behind a transaction-mode pooler, too.
 */
export async function underLock<T>(
  db: Database,
  logger: Logger,
  work: () => Promise<T>,
): Promise<T> {
  const client = await db.pool.connect();
  try {
    await acquire(client, logger);
    await untilFormerBuildsEnd(db, logger);
    return await work();
  } finally {
    // A connection that cannot roll back is closed, which releases the lock.
    const broken = await client.query('rollback').then(
      () => false,
      () => true,
    );
    client.release(broken);
  }
}
