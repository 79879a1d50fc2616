import { type Database, runInBackground } from '../connection/database.js';

import { forOwners, type PushRecipient } from './push-recipients.js';

export interface ClaimedPush {
  /** Of the device, or of the user. */
  ownerId: number;
  /** Pushes since something was last queued for the owner. */
  attempts: number;
  /** Names the claim, to the microsecond. */
  claimedAt: string;
}

/** How long a claim lasts: after it, the row of a process that died is anybody's. */
export const CLAIM_MS = 30_000;

/** None of this needs to survive a crash: a row whose change is lost is due again, that is all. */
const ASYNC = `set_config('synchronous_commit', 'off', true)`;

const CLAIM = forOwners(
  'claim_pushes',
  ({ pushes, key }) => `
update ${pushes} p set
  claimed_at = clock_timestamp(), due_at = now() + ${CLAIM_MS} * interval '1 ms'
where p.${key} = any(array(
  select ${key} from ${pushes} where due_at <= now()
  order by due_at
  limit $1
  for update skip locked
))
returning p.${key} as owner_id, p.attempts, p.claimed_at::text as claimed_at, ${ASYNC}`,
);

/** Takes up to `limit` owners whose push is due, for this process alone, the longest due first. */
export async function claimPushes(
  db: Database,
  owner: PushRecipient,
  limit: number,
): Promise<ClaimedPush[]> {
  type Row = { owner_id: number; attempts: number; claimed_at: string };
  const { rows } = await runInBackground<Row>(db, CLAIM[owner], [limit]);
  return rows.map(({ owner_id: ownerId, attempts, claimed_at: claimedAt }) => ({
    ownerId,
    attempts,
    claimedAt,
  }));
}

/** What decides whether and how an owner is pushed. Times are milliseconds from now. */
export interface PushTarget {
  ownerId: number;
  /** The owner, or the device whose user it is. */
  deviceId: number;
  isEnrolled: boolean;
  topic: string | null;
  sealedPush: Buffer | null;
  /** Under which `sealedPush` opens. */
  identity: string;
  pushState: string | null;
  /** Refused pushes since the last one that was delivered. */
  refusals: number;
  isWaitedFor: boolean;
  /** Until the next command may be given out that may not be yet. */
  nextIn: number | null;
  /** Until the topic is tried again, when it is blocked; negative once that is due. */
  blockedFor: number | null;
}

interface TargetRow {
  id: number;
  device_id: number;
  identity: string;
  is_enrolled: boolean;
  topic: string | null;
  sealed_push: Buffer | null;
  push_state: string | null;
  failed_push_count: number;
  is_waited_for: boolean;
  next_in: number | null;
  blocked_for: number | null;
}

const DESCRIBE = forOwners(
  'describe_pushes',
  ({ owners, device, ownCommand, isEnrolled, identity }) => `
select o.id, d.id as device_id, ${isEnrolled} as is_enrolled, d.topic, o.sealed_push,
  ${identity} as identity, o.push_state, o.failed_push_count,
  coalesce(waiting.is_any, false) as is_waited_for,
  (extract(epoch from later.first - now()) * 1000)::float8 as next_in,
  (extract(epoch from t.retry_at - now()) * 1000)::float8 as blocked_for
from ${owners} o
${device}
left join push_topics t on t.topic = d.topic
left join lateral (
  select true as is_any from commands c
  where ${ownCommand} and c.is_pending and (c.after is null or c.after <= now())
    and (c.expires_at is null or c.expires_at > now())
  order by c.priority desc, c.id
  limit 1
) waiting on true
left join lateral (
  select c.after as first from commands c
  where ${ownCommand} and c.is_pending and c.after > now()
    and (c.expires_at is null or c.expires_at > now())
  order by c.after
  limit 1
) later on true
where o.id = any($1::bigint[])`,
);

/**
 * Reads after the claim, in a statement of its own: whatever was committed with a request that the
 * claim took up is seen here.
 */
export async function describePushes(
  db: Database,
  owner: PushRecipient,
  ids: number[],
): Promise<PushTarget[]> {
  const { rows } = await runInBackground<TargetRow>(db, DESCRIBE[owner], [ids]);
  return rows.map((row) => ({
    ownerId: row.id,
    deviceId: row.device_id,
    identity: row.identity,
    isEnrolled: row.is_enrolled,
    topic: row.topic,
    sealedPush: row.sealed_push,
    pushState: row.push_state,
    refusals: row.failed_push_count,
    isWaitedFor: row.is_waited_for,
    nextIn: row.next_in,
    blockedFor: row.blocked_for,
  }));
}

/** What becomes of a claimed row. */
export interface PushEnd extends ClaimedPush {
  /** Milliseconds from now; null: the row goes. */
  dueIn: number | null;
  /**
   * What was queued before the claim is taken care of: a request that came later makes the row due
   * at once. Otherwise that request waits until `dueIn` with the earlier ones.
   */
  isSettled: boolean;
}

const FINISH = forOwners(
  'finish_pushes',
  ({ pushes, key }) => `
with ending as (
  select * from unnest($1::bigint[], $2::timestamptz[], $3::float8[], $4::integer[], $5::boolean[])
    as e (owner_id, claimed_at, due_in, attempts, is_settled)
), locked as (
  select e.*, p.requested_at > p.claimed_at as is_asked,
    p.requested_at > p.claimed_at and e.is_settled as is_due
  from ${pushes} p
  join ending e on e.owner_id = p.${key} and e.claimed_at = p.claimed_at
  order by p.${key}
  for update of p
), gone as (
  delete from ${pushes} p using locked l
  where p.${key} = l.owner_id and l.due_in is null and not l.is_due
)
update ${pushes} p set
  claimed_at = null,
  due_at = case when l.is_due then now() else now() + l.due_in * interval '1 ms' end,
  attempts = case when l.is_asked then 0 else l.attempts end
from locked l
where p.${key} = l.owner_id and (l.due_in is not null or l.is_due)
returning l.is_due, ${ASYNC}`,
);

/** Ends claims that are still this process's own. True when some of the rows are due again at once. */
export async function finishPushes(
  db: Database,
  owner: PushRecipient,
  ends: readonly PushEnd[],
): Promise<boolean> {
  const { rows } = await runInBackground<{ is_due: boolean }>(db, FINISH[owner], [
    ends.map(({ ownerId }) => ownerId),
    ends.map(({ claimedAt }) => claimedAt),
    ends.map(({ dueIn }) => dueIn),
    ends.map(({ attempts }) => attempts),
    ends.map(({ isSettled }) => isSettled),
  ]);
  return rows.some(({ is_due: isDue }) => isDue);
}
