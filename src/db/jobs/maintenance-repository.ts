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

/** Exact up to 10,000; above, PostgreSQL's estimate for the index of enrolled devices. */
const COUNT_ENROLLED = `
select greatest(
  (select reltuples from pg_class where oid = 'devices_inventory_due'::regclass),
  (select count(*) from (select from devices where is_enrolled limit 10000) as first_few)
)::float8 as count`;

/** About how many devices are enrolled: counting a million each minute would cost too much. */
export async function estimateEnrolled(knex: Knex): Promise<number> {
  const { rows } = await knex.raw<{ rows: { count: number }[] }>(COUNT_ENROLLED);
  return rows[0]?.count ?? 0;
}

// In the order of the index devices_inventory_due, so that only the claimed rows are read.
const CLAIM_DUE = `
select id, udid, enrollment_id, enrollment_state, enrollment_type, enrollment_method,
  platform, os_version, is_supervised
from devices
where is_enrolled
  and coalesce(inventory_queued_at, enrolled_at) <= now() - :age * interval '1 ms'
order by coalesce(inventory_queued_at, enrolled_at)
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
