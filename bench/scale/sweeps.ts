import type { Knex } from 'knex';
import type pg from 'pg';
import { countFleet } from '../../src/db/admin/fleet-repository.js';
import { duePushes, jobCounts, pendingCommands } from '../../src/db/admin/metrics-repository.js';
import { markDue as markItemsDue } from '../../src/db/assignments/marks.js';
import type { Database } from '../../src/db/connection/database.js';
import { expireOverdue } from '../../src/db/devices/command-repository.js';
import {
  FROM_THE_OLDEST,
  OLD_COMMANDS,
  removeOldCommands,
} from '../../src/db/devices/command-retention.js';
import { removeOldChanges } from '../../src/db/devices/device-changes.js';
import { claimSetups, findUnbegunSetups } from '../../src/db/devices/device-setup-repository.js';
import { announceRemoval } from '../../src/db/devices/removal-notices.js';
import { unhandledReports } from '../../src/db/devices/report-repository.js';
import { removeOldRequests } from '../../src/db/enroll/enrollment-request-repository.js';
import {
  beginDueRenewals,
  claimRenewals,
} from '../../src/db/enroll/identity-renewal-repository.js';
import { markDue } from '../../src/db/groups/group-marks.js';
import { pruneFlaps } from '../../src/db/groups/membership.js';
import {
  claimInventoryDue,
  estimateEnrolled,
  removeOrphanTopics,
  removeSpentChallenges,
} from '../../src/db/jobs/maintenance-repository.js';
import {
  countEndingIdentities,
  countIdentitiesOf,
} from '../../src/db/pki/credential-repository.js';
import { countRefusedDevices, listEnrolledTopics } from '../../src/db/push/device-reach.js';
import { requestMissingPushes } from '../../src/db/push/push-enqueue.js';
import { clearMismatches, markMismatches } from '../../src/db/push/push-topic-mismatch.js';
import { removeOldKeys } from '../../src/db/store/idempotency-repository.js';
import { explain, type StatementPlan } from './plans.js';

export interface Swept {
  name: string;
  ms: number;
  rowsRead: number;
  scanned: string[];
  plans: StatementPlan[];
}

const LIMIT = 1_000;
const DAY_MS = 86_400_000;

type Sweep = (trx: Knex.Transaction, db: Database) => Promise<unknown>;

/** What runs by the clock or at each scrape, with what it is called with. */
export const SWEEPS: Record<string, Sweep> = {
  'commands.expire': (trx) => expireOverdue(trx, LIMIT),
  'commands.remove_old announce': (trx) => announceRemoval(trx, OLD_COMMANDS, 90 * DAY_MS),
  'commands.remove_old remove': (trx) => {
    return removeOldCommands(trx, { age: 90 * DAY_MS, limit: LIMIT, after: FROM_THE_OLDEST });
  },
  'reports unhandled': (trx) => unhandledReports(trx, { limit: 500, after: 0, except: [] }),
  'push.find_unpushed device': (trx) => requestMissingPushes(trx, 'device', LIMIT),
  'push.find_unpushed user': (trx) => requestMissingPushes(trx, 'user', LIMIT),
  'push.check_topics topics': (trx) => listEnrolledTopics(trx),
  'push.check_topics mark': (trx) =>
    markMismatches(trx, 'no.such.topic', { after: 0, limit: LIMIT }),
  'push.check_topics clear': (trx) => clearMismatches(trx, [], { after: 0, limit: LIMIT }),
  'records.prune keys': (trx) => removeOldKeys(trx, LIMIT),
  'records.prune challenges': (trx) => removeSpentChallenges(trx, LIMIT),
  'records.prune requests': (trx) => removeOldRequests(trx, LIMIT),
  'records.prune changes': (trx) => removeOldChanges(trx, { age: 365 * DAY_MS, limit: LIMIT }),
  'records.prune topics': (trx) => removeOrphanTopics(trx),
  'inventory.refresh estimate': (trx) => estimateEnrolled(trx),
  'inventory.refresh claim': (trx) => claimInventoryDue(trx, { age: DAY_MS, limit: 100 }),
  'identities.renew begin': (trx) => beginDueRenewals(trx, LIMIT),
  'identities.renew claim': (trx) => claimRenewals(trx, LIMIT),
  'device_setups begin': (trx) => findUnbegunSetups(trx, LIMIT),
  'device_setups claim': (trx) => claimSetups(trx, LIMIT),
  'reconcile.due': (trx) => markItemsDue(trx, LIMIT),
  'groups.times': (trx) => markDue(trx, 'time', LIMIT),
  'groups.flaps': (trx) => pruneFlaps(trx),
  'credentials.check ending identities': (trx) => {
    return countEndingIdentities(trx, { days: 14, most: 10_000 });
  },
  'credentials.check identities by CA': async (trx) => {
    const ids: number[] = await trx('certificates').where({ purpose: 'mdm.cacert' }).pluck('id');
    return await countIdentitiesOf(trx, ids, 10_000);
  },
  'credentials refused devices': (trx) => countRefusedDevices(trx),
  'metrics pending commands': (trx) => pendingCommands(inPlaceOf(trx)),
  'metrics due pushes': (trx) => duePushes(inPlaceOf(trx)),
  'metrics jobs': (trx) => jobCounts(inPlaceOf(trx)),
  'metrics fleet': (trx) => countFleet(inPlaceOf(trx)),
};

/** Their functions open a transaction of their own, which becomes a savepoint. */
function inPlaceOf(trx: Knex.Transaction): Database {
  return { knex: trx } as unknown as Database;
}

interface Sent {
  sql: string;
  bindings?: unknown[];
}

/** Runs a sweep and explains its statements; both are rolled back. */
export async function runSweep(db: Database, client: pg.Client, name: string): Promise<Swept> {
  const sent: Sent[] = [];
  const note = (query: Sent) => sent.push(query);
  const sweep = SWEEPS[name];
  if (sweep === undefined) throw new Error(`no sweep ${name}`);
  const trx = await db.knex.transaction();
  trx.on('query', note);
  const startedAt = performance.now();
  try {
    await sweep(trx, db);
  } finally {
    await trx.rollback();
  }
  const ms = performance.now() - startedAt;
  const plans: StatementPlan[] = [];
  for (const { sql, bindings = [] } of sent) {
    if (!/^[\s(]*(with|select|insert|update|delete)\b/i.test(sql)) continue;
    await client.query('begin');
    plans.push(await explain(client, { text: sql.trim(), bindings }));
    await client.query('rollback');
  }
  const rowsRead = plans.reduce((sum, plan) => sum + plan.rowsRead, 0);
  return { name, ms, rowsRead, scanned: plans.flatMap(({ scanned }) => scanned), plans };
}
