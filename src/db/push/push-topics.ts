import type { Knex } from 'knex';
import { type Database, runInBackground } from '../connection/database.js';
import { forRecipients, type PushRecipient } from './push-recipients.js';

export interface PushCertificateRow {
  id: number;
  der: Buffer;
  chain_der: Buffer | null;
  /** Hexadecimal. */
  fingerprint: string;
  key_fingerprint: string;
  sealed_pkcs8: Buffer;
}

/** The newest push certificate of a topic that can be used now, with its sealed key. */
export async function findPushCertificate(
  knex: Knex,
  topic: string,
): Promise<PushCertificateRow | undefined> {
  return await knex('certificates as c')
    .join('rsa_private_keys as k', 'k.id', 'c.rsa_private_key_id')
    .where({ 'c.purpose': 'mdm.pushcert', 'c.push_topic': topic })
    .whereNull('c.revoked_at')
    .where('c.not_before', '<=', knex.fn.now())
    .where('c.not_after', '>', knex.fn.now())
    .orderBy('c.id', 'desc')
    .first<PushCertificateRow | undefined>(
      'c.id',
      'c.der',
      'c.chain_der',
      'k.sealed_pkcs8',
      'c.fingerprint_sha256 as fingerprint',
      'k.fingerprint_sha256 as key_fingerprint',
    );
}

const FIRST_MS = 600_000;
const MAX_BLOCKED_MS = 6 * 3_600_000;
/** While one process tries a blocked topic, the others do not. */
const PROBE_MS = 60_000;

const RETRY_IN = `(extract(epoch from t.retry_at - now()) * 1000)::float8 as retry_in`;

const BLOCK = {
  name: 'block_push_topic',
  text: `
with added as (
  insert into push_topics as t (topic, blocked_reason, retry_at)
  values ($1, $2, now() + ${FIRST_MS} * interval '1 ms')
  on conflict (topic) do nothing
  returning true as is_new, ${RETRY_IN}
)
select is_new, retry_in from added
union all
select false, ${RETRY_IN} from push_topics t where t.topic = $1`,
};

// As long again as it has been blocked, so the intervals double.
const STAY_BLOCKED = {
  name: 'keep_push_topic_blocked',
  text: `
update push_topics t set
  blocked_reason = $2,
  retry_at = now() + greatest(${FIRST_MS} * interval '1 ms',
    least(now() - t.blocked_at, ${MAX_BLOCKED_MS} * interval '1 ms'))
where t.topic = $1
returning false as is_new, ${RETRY_IN}`,
};

const TRY = {
  name: 'try_push_topic',
  text: `
update push_topics set retry_at = now() + ${PROBE_MS} * interval '1 ms'
where topic = $1 and retry_at <= now() returning topic`,
};

export interface Refusal {
  topic: string;
  reason: string;
  /** It was the single push that tests a blocked topic. */
  isProbe: boolean;
}

export interface Blocked {
  /** No process had blocked it before. */
  isNew: boolean;
  /** Milliseconds. */
  retryIn: number;
}

/** Records that the push service refuses the topic's certificate. */
export async function blockTopic(
  db: Database,
  { topic, reason, isProbe }: Refusal,
): Promise<Blocked> {
  type Row = { is_new: boolean; retry_in: number };
  const statement = isProbe ? STAY_BLOCKED : BLOCK;
  const record = () => runInBackground<Row>(db, statement, [topic, reason]);
  let { rows } = await record();
  // Blocked by another process meanwhile: this statement did not see its row.
  if (rows.length === 0 && !isProbe) ({ rows } = await record());
  // Unblocked since: the next refusal blocks it again.
  const [row = { is_new: false, retry_in: 0 }] = rows;
  return { isNew: row.is_new, retryIn: Math.max(0, row.retry_in) };
}

/** True for one process, which is to try the blocked topic now. */
export async function mayTryTopic(db: Database, topic: string): Promise<boolean> {
  const { rows } = await runInBackground(db, TRY, [topic]);
  return rows.length > 0;
}

/** Returns false when the topic was not blocked. */
export async function unblockTopic(knex: Knex, topic: string): Promise<boolean> {
  return (await knex('push_topics').where({ topic }).delete()) > 0;
}

const REARM = forRecipients(
  'rearm_pushes',
  ({ recipients, pushes, key, joinDevice }) => `
with next as (
  select p.${key} as recipient_id,
    now() + ($4 + $5 * row_number() over (order by p.${key})) * interval '1 ms' as due_at
  from ${pushes} p
  join ${recipients} r on r.id = p.${key}
  ${joinDevice}
  where p.${key} > $2 and d.topic = $1
  order by p.${key}
  limit $3
), moved as (
  update ${pushes} p set due_at = n.due_at
  from next n
  where p.${key} = n.recipient_id and p.claimed_at is null and p.due_at > n.due_at
)
select count(*)::integer as count, max(recipient_id) as last from next`,
);

export interface RearmStep {
  topic: string;
  /** Last id of the step before; 0 at first. */
  after: number;
  limit: number;
  /** Milliseconds from now until the first, and from one to the next. */
  from: number;
  every: number;
}

/** Makes waiting pushes of a topic due soon, one after another. `last` is null at the end. */
export async function rearmPushes(
  db: Database,
  recipient: PushRecipient,
  { topic, after, limit, from, every }: RearmStep,
): Promise<{ count: number; last: number | null }> {
  type Row = { count: number; last: number | null };
  const values = [topic, after, limit, from, every];
  const { rows } = await runInBackground<Row>(db, REARM[recipient], values);
  return rows[0] ?? { count: 0, last: null };
}
