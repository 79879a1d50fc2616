import type { Database } from './database.js';

export interface PoolUse {
  pool: 'admin' | 'background' | 'device' | 'list';
  used: number;
  idle: number;
  /** Callers that wait for a connection. */
  waiting: number;
}

/** What Knex's pool tells, in its words. */
interface KnexPool {
  numUsed(): number;
  numFree(): number;
  numPendingAcquires(): number;
}

/** How the connections of this process are used at this moment. */
export function poolUse({ knex, pool, background, lists }: Database): PoolUse[] {
  const { pool: admin } = knex.client as { pool: KnexPool };
  const pools = [
    { pool: 'device' as const, of: pool, waiting: pool.waitingCount },
    { pool: 'background' as const, of: background, waiting: background.waitingCount },
    { pool: 'list' as const, of: lists.pool, waiting: lists.waiting },
  ];
  return [
    {
      pool: 'admin',
      used: admin.numUsed(),
      idle: admin.numFree(),
      waiting: admin.numPendingAcquires(),
    },
    ...pools.map(({ pool: name, of, waiting }) => ({
      pool: name,
      used: of.totalCount - of.idleCount,
      idle: of.idleCount,
      waiting,
    })),
  ];
}
