import { PENDING_STATUSES } from '../connection/command-status.js';
import type { Database } from '../connection/database.js';

export interface PendingCommands {
  status: string;
  count: number;
  /** Since the oldest of them was queued; 0 when there is none. */
  oldestSeconds: number;
}

export interface DuePushes {
  count: number;
  /** How long the first of them has been due; 0 when there is none. */
  lateSeconds: number;
}

export interface BlockedTopic {
  topic: string;
  reason: string;
  blockedAt: Date;
  retryAt: Date;
}

export interface JobCount {
  status: string;
  count: number;
  late_seconds: number;
}

export interface RoleCount {
  role: string;
  count: number;
}

/**
 * After 8 s a scrape has timed out anyway. At most one core, since the others serve devices. The memory
 * is for the bitmap of 500,000 pending commands.
 */
const LIMITS = `set local statement_timeout = '8s'; set local work_mem = '32MB';
set local max_parallel_workers_per_gather = 0`;

/** Else the planner reads all commands where many are pending, since those are spread over the table. */
const BY_INDEX = 'set local enable_seqscan = off';

// One scan of the partial index of pending commands: finished ones cost nothing.
const PENDING_COMMANDS = `
select status, count(*) as count,
  greatest(0, extract(epoch from now() - min(queued_at)))::float8 as "oldestSeconds"
from commands where is_pending group by status`;

const DUE_PUSHES = `
select count(*) as count,
  coalesce(greatest(0, extract(epoch from now() - min(due_at))), 0)::float8 as "lateSeconds"
from (select due_at from device_pushes union all select due_at from user_pushes) pushes
where due_at <= now()`;

/**
 * The rows of one statement, within the limits of a scrape and `settings`. Throws the driver's error.
 */
export async function select<Row>(db: Database, sql: string, settings = ''): Promise<Row[]> {
  return await db.knex.transaction(async (trx) => {
    await trx.raw(`${LIMITS}; ${settings}`);
    const { rows } = await trx.raw<{ rows: Row[] }>(sql);
    return rows;
  });
}

/** Each pending status once, also those without commands. */
export async function pendingCommands(db: Database): Promise<PendingCommands[]> {
  const rows = await select<PendingCommands>(db, PENDING_COMMANDS, BY_INDEX);
  return PENDING_STATUSES.map(
    (status) => rows.find((row) => row.status === status) ?? { status, count: 0, oldestSeconds: 0 },
  );
}

/** Pushes that are due and that no process has claimed. */
export async function duePushes(db: Database): Promise<DuePushes> {
  const [row] = await select<DuePushes>(db, DUE_PUSHES);
  return row ?? { count: 0, lateSeconds: 0 };
}

/** Topics that APNs refuses, with its reason. */
export async function blockedTopics(db: Database): Promise<BlockedTopic[]> {
  return await db.knex('push_topics').orderBy('topic').select<BlockedTopic[]>('topic', {
    reason: 'blocked_reason',
    blockedAt: 'blocked_at',
    retryAt: 'retry_at',
  });
}

/** Jobs by status of the view `jobs`, and for how long the first of each has been due. */
export function jobCounts(db: Database): Promise<JobCount[]> {
  return select(
    db,
    `select status, count(*) as count,
       greatest(0, extract(epoch from now() - min(run_at)))::float8 as late_seconds
     from jobs group by status`,
  );
}

/** Live processes of this server by role. */
export function processCounts(db: Database): Promise<RoleCount[]> {
  return select(
    db,
    `select role, count(*) as count from server_processes
     where seen_at > now() - interval '30 seconds' group by role`,
  );
}
