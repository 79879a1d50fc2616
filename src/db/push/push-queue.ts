import { type Database, runInBackground } from '../connection/database.js';
import { forRecipients, type PushRecipient } from './push-recipients.js';

export interface ClaimedPush {
  /** Id of the device, or of the user. */
  recipientId: number;
  /** Pushes since something was last queued for the recipient. */
  attempts: number;
  /** Identifies the claim, to the microsecond. */
  claimedAt: string;
}

/** Duration of a claim. After it, any process may claim a row whose process died. */
export const CLAIM_MS = 30_000;

/** Nothing here has to survive a crash: a row whose change is lost is due again. */
const ASYNC = `set_config('synchronous_commit', 'off', true)`;

const CLAIM = forRecipients(
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
returning p.${key} as recipient_id, p.attempts, p.claimed_at::text as claimed_at, ${ASYNC}`,
);

/** Claims up to `limit` recipients whose push is due for this process, the longest due first. */
export async function claimPushes(
  db: Database,
  recipient: PushRecipient,
  limit: number,
): Promise<ClaimedPush[]> {
  type Row = { recipient_id: number; attempts: number; claimed_at: string };
  const { rows } = await runInBackground<Row>(db, CLAIM[recipient], [limit]);
  return rows.map(({ recipient_id: recipientId, attempts, claimed_at: claimedAt }) => ({
    recipientId,
    attempts,
    claimedAt,
  }));
}

/** What decides whether and how a recipient is pushed. Times are milliseconds from now. */
export interface PushTarget {
  recipientId: number;
  /** The recipient itself, or the device whose user it is. */
  deviceId: number;
  isEnrolled: boolean;
  topic: string | null;
  sealedPush: Buffer | null;
  /** The label that `sealedPush` was sealed with. */
  sealLabel: string;
  pushState: string | null;
  /** Refused pushes since the last one that was delivered. */
  refusals: number;
  hasCommands: boolean;
  /** Until the next command that may not be sent yet. */
  nextIn: number | null;
  /** Until a blocked topic is tried again, negative once that is due; null: it is not blocked. */
  blockedFor: number | null;
}

interface TargetRow {
  id: number;
  device_id: number;
  seal_label: string;
  is_enrolled: boolean;
  topic: string | null;
  sealed_push: Buffer | null;
  push_state: string | null;
  failed_push_count: number;
  has_commands: boolean;
  next_in: number | null;
  blocked_for: number | null;
}

const DESCRIBE = forRecipients(
  'describe_pushes',
  ({ recipients, joinDevice, isForRecipient, isEnrolled, sealLabel }) => `
select r.id, d.id as device_id, ${isEnrolled} as is_enrolled, d.topic, r.sealed_push,
  ${sealLabel} as seal_label, r.push_state, r.failed_push_count,
  coalesce(waiting.is_any, false) as has_commands,
  (extract(epoch from later.first - now()) * 1000)::float8 as next_in,
  (extract(epoch from t.retry_at - now()) * 1000)::float8 as blocked_for
from ${recipients} r
${joinDevice}
left join push_topics t on t.topic = d.topic
left join lateral (
  select true as is_any from commands c
  where ${isForRecipient} and c.is_pending and (c.after is null or c.after <= now())
    and (c.expires_at is null or c.expires_at > now())
  order by c.priority desc, c.id
  limit 1
) waiting on true
left join lateral (
  select c.after as first from commands c
  where ${isForRecipient} and c.is_pending and c.after > now()
    and (c.expires_at is null or c.expires_at > now())
  order by c.after
  limit 1
) later on true
where r.id = any($1::bigint[])`,
);

/**
 * Reads after the claim, in a separate statement, which sees everything that was committed with the
 * requests covered by the claim.
 */
export async function describePushes(
  db: Database,
  recipient: PushRecipient,
  ids: number[],
): Promise<PushTarget[]> {
  const { rows } = await runInBackground<TargetRow>(db, DESCRIBE[recipient], [ids]);
  return rows.map((row) => ({
    recipientId: row.id,
    deviceId: row.device_id,
    sealLabel: row.seal_label,
    isEnrolled: row.is_enrolled,
    topic: row.topic,
    sealedPush: row.sealed_push,
    pushState: row.push_state,
    refusals: row.failed_push_count,
    hasCommands: row.has_commands,
    nextIn: row.next_in,
    blockedFor: row.blocked_for,
  }));
}

/** How a claimed row ends. */
export interface PushEnd extends ClaimedPush {
  /** Milliseconds from now; null: the row is deleted. */
  dueIn: number | null;
  /**
   * True once the push was answered for good: the requests made before the claim are done, and one made
   * after it makes the row due at once. False when the push is retried: that request waits until `dueIn`.
   */
  coversEarlierRequests: boolean;
}

const FINISH = forRecipients(
  'finish_pushes',
  ({ pushes, key }) => `
with ending as (
  select * from unnest($1::bigint[], $2::timestamptz[], $3::float8[], $4::integer[], $5::boolean[])
    as e (recipient_id, claimed_at, due_in, attempts, covers_earlier)
), locked as (
  select e.*, p.requested_at > p.claimed_at as is_requested_again,
    p.requested_at > p.claimed_at and e.covers_earlier as is_due
  from ${pushes} p
  join ending e on e.recipient_id = p.${key} and e.claimed_at = p.claimed_at
  order by p.${key}
  for update of p
), deleted as (
  delete from ${pushes} p using locked l
  where p.${key} = l.recipient_id and l.due_in is null and not l.is_due
)
update ${pushes} p set
  claimed_at = null,
  due_at = case when l.is_due then now() else now() + l.due_in * interval '1 ms' end,
  attempts = case when l.is_requested_again then 0 else l.attempts end
from locked l
where p.${key} = l.recipient_id and (l.due_in is not null or l.is_due)
returning l.is_due, ${ASYNC}`,
);

/** Ends claims that this process still holds. True when some of the rows are due again at once. */
export async function finishPushes(
  db: Database,
  recipient: PushRecipient,
  ends: readonly PushEnd[],
): Promise<boolean> {
  const { rows } = await runInBackground<{ is_due: boolean }>(db, FINISH[recipient], [
    ends.map(({ recipientId }) => recipientId),
    ends.map(({ claimedAt }) => claimedAt),
    ends.map(({ dueIn }) => dueIn),
    ends.map(({ attempts }) => attempts),
    ends.map(({ coversEarlierRequests }) => coversEarlierRequests),
  ]);
  return rows.some(({ is_due: isDue }) => isDue);
}
