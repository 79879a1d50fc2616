import type { Knex } from 'knex';
import type { InventoryTarget } from '../devices/device-repository.js';

/**
 * A challenge is valid for a day, so these cannot be used again. They also record that a certificate is
 * a device's identity, so they are removed only where a pin records it too.
 */
const REMOVE_CHALLENGES = `
delete from scep_challenges where ctid in (
  select s.ctid from scep_challenges s join certificates c on c.id = s.certificate_id
  where s.locked_at < now() - interval '30 days'
    and exists (select from device_identities i where i.fingerprint = c.fingerprint)
  limit ? for update of s skip locked)`;

/** Removes at most `limit` challenges spent more than 30 days ago. Returns how many. */
export async function removeSpentChallenges(knex: Knex, limit: number): Promise<number> {
  return await rowsChanged(knex, REMOVE_CHALLENGES, [limit]);
}

const REMOVE_TOPICS = `
delete from push_topics t where not exists (
  select from certificates c
  where c.purpose = 'mdm.pushcert' and c.push_topic = t.topic and c.revoked_at is null)`;

/** Removes the blocks of topics that have no certificate any more. */
export async function removeOrphanTopics(knex: Knex): Promise<number> {
  return await rowsChanged(knex, REMOVE_TOPICS, []);
}

/** Exact up to 10,000; above, PostgreSQL's estimate. Each enrolled device has a row. */
const COUNT_ENROLLED = `
select greatest(
  (select reltuples from pg_class where oid = 'device_inventories'::regclass),
  (select count(*) from (select from device_inventories limit 10000) as first_few)
)::float8 as count`;

/** About how many devices are enrolled: counting a million each minute would cost too much. */
export async function estimateEnrolled(knex: Knex): Promise<number> {
  const { rows } = await knex.raw<{ rows: { count: number }[] }>(COUNT_ENROLLED);
  return rows[0]?.count ?? 0;
}

// In the order of the index device_inventories_due, so that only the claimed rows are read. The devices
// are locked, too: what ends an enrollment locks its device first and then removes what the claim adds to.
const CLAIM_DUE = `
select d.id, d.udid, d.enrollment_id, d.enrollment_state, d.enrollment_type, d.enrollment_method,
  d.platform, d.os_version, d.is_supervised, d.is_multi_user
from device_inventories i join devices d on d.id = i.device_id
where i.queued_at <= now() - :age * interval '1 ms'
order by i.queued_at, i.device_id
limit :limit
for no key update skip locked`;

/**
 * Enrolled devices whose last inventory was queued at least `age` milliseconds ago, the oldest first,
 * locked until the transaction ends.
 */
export async function claimInventoryDue(
  trx: Knex.Transaction,
  due: { age: number; limit: number },
): Promise<InventoryTarget[]> {
  const { rows } = await trx.raw<{ rows: InventoryTarget[] }>(CLAIM_DUE, due);
  return rows;
}

async function rowsChanged(knex: Knex, text: string, bindings: number[]): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(text, bindings);
  return rowCount;
}
